import { attachmentIn } from './claude-code-attachments.ts'
import { beside, type SessionAnnotations, hasSubagent, subagentOf } from './claude-code-beside.ts'
import { messageOf, reasonFor } from './claude-code-entries.ts'
import { kindOf, noQueue, type Queue, queueOf, textOf } from './claude-code-queue.ts'
import * as hidden from './claude-code-hidden.ts'
import * as said from './claude-code-messages.ts'
import {
  afterCopies,
  finish as actionsOf,
  newChain,
  pass,
  placeOf,
  type SessionChain,
} from './claude-code-chain.ts'
import { createFileRequests } from './claude-code-requests.ts'
import { hasAll, type LineFormat } from './format.ts'
import type { ConversationPlan } from './plan.ts'
import type { Shelf } from './shelf.ts'
import { type Fields, isFields } from '../../events/json.ts'
import {
  digest,
  entriesIn,
  type FileEntry,
  idOf,
  type FileLine,
  type LineReader,
  messageProblem,
  type ImportNotes,
  otherEntry,
  sameEntry,
  stringOf,
} from './source.ts'

export const claudeCode: LineFormat = {
  name: 'claude-code',
  recognises: (fields) =>
    ['sessionId', 'parentUuid', 'leafUuid'].some((name) => hasAll(fields, name)) ||
    fields['type'] === 'file-history-snapshot',
  read: (notes, shelf) => readClaudeCode(notes, shelf),
}

/**
 * Reads Claude Code's JSONL. Each line is an entry; the entries form a tree by `uuid` and `parentUuid` and are ordered by time. The
 * session is one conversation, and each subagent (`agentId`, or the root of a sidechain) is another.
 */
const readClaudeCode = (notes: ImportNotes, shelf: Shelf): LineReader<readonly ConversationPlan[]> => {
  const session = sessionOf(notes, shelf)
  const ordered = inOrder(session)
  const read = (line: FileLine): void => {
    for (const entry of entriesIn(line, notes)) ordered.read(entry)
  }
  const finish = (): readonly ConversationPlan[] => {
    ordered.finish()
    return session.finish()
  }
  return {
    read,
    soFar: session.soFar,
    finish,
    mayGoOn: () => !ordered.isWaiting() && session.mayGoOn(),
  }
}

/**
 * Returns a reader that passes entries on. If the recorder wrote an entry one line before its parent, the entry is passed on after the
 * parent.
 */
const inOrder = ({
  read: forward,
  has,
}: Pick<Session, 'read' | 'has'>): {
  readonly read: (entry: FileEntry) => void
  readonly finish: () => void
  /** Reports whether an entry was read whose parent may be the next one. */
  readonly isWaiting: () => boolean
} => {
  let early: FileEntry | undefined
  const finish = (): void => {
    if (early) forward(early)
    early = undefined
  }
  const read = (entry: FileEntry): void => {
    const { uuid, parentUuid } = entry.fields
    const isAwaited = stringOf(uuid) !== undefined && early?.fields['parentUuid'] === uuid
    if (!isAwaited) finish()
    if (stringOf(uuid) === undefined) return forward(entry)
    const isEarly = stringOf(parentUuid) !== undefined && !has(parentUuid)
    if (isAwaited || !isEarly) forward(entry)
    if (isAwaited) finish()
    else if (isEarly) early = entry
  }
  return { read, finish, isWaiting: () => early !== undefined }
}

interface Session {
  readonly read: (entry: FileEntry) => void
  /** Reports whether an entry with this uuid has been read. */
  readonly has: (uuid: unknown) => boolean
  readonly soFar: () => readonly ConversationPlan[]
  readonly finish: () => readonly ConversationPlan[]
  readonly mayGoOn: () => boolean
}

const sessionOf = (notes: ImportNotes, shelf: Shelf): Session => {
  const threads = new Map<string, SessionChain>()
  const queue = queueOf(notes)
  const seen = new Map<unknown, number>()
  const isAgain = repeats(seen, notes)
  const rootOf = sidechainRoots()
  const ids = new Set<string>()
  const aside = beside(notes)
  const requests = createFileRequests(notes, shelf)
  let first: Fields | undefined
  const read = (entry: FileEntry): void => {
    const { isSidechain, sessionId } = entry.fields
    first ??= entry.fields
    if (stringOf(sessionId) !== undefined) ids.add(String(sessionId))
    if (requests.read(entry.fields)) return
    const key = isSidechain === true ? rootOf(entry.fields) : ''
    const current = threads.get(key) ?? newChain(notes, shelf, key === '' ? queue : noQueue, requests)
    threads.set(key, current)
    aside.see(entry.fields)
    if (isAgain(entry.fields)) current.copies.add(entry.fields['uuid'])
    else readEntry(afterCopies(current, entry), { current, queue, notes, aside })
  }
  const idOfSession = (): string => {
    const [named] = ids
    return named ?? `claude-code-${digest(first)}`
  }
  const soFar = (): readonly ConversationPlan[] =>
    [...threads].map(([key, { actions }]) => ({
      id: idOf(key === '' ? idOfSession() : `${idOfSession()}:${key}`),
      actions: actions.list(),
    }))
  const finish = (): readonly ConversationPlan[] => {
    const id = idOfSession()
    if (ids.size > 1)
      notes.note(`the file has entries of ${ids.size} sessions, imported as one conversation, ${id}`)
    const main = idOf(id)
    const plans = [...threads].flatMap(([key, thread]): ConversationPlan[] => {
      const actions = actionsOf(thread)
      if (actions.length === 0) return []
      if (key !== '')
        notes.note(`subagent ${key} of session ${id} is a separate conversation, linked to the session`)
      return [
        key === ''
          ? { id: main, actions }
          : { id: idOf(`${id}:${key}`), actions, notes: [subagentOf(main, aside.calls.get(key))] },
      ]
    })
    const here = new Set(plans.map((plan) => plan.id))
    const elsewhere = [...aside.calls].map(([agent, call]) => [idOf(`${id}:${agent}`), call] as const)
    const links = elsewhere
      .filter(([subagent]) => !here.has(subagent))
      .map(([subagent, call]) => hasSubagent(subagent, call))
    const titles = aside.titles((uuid) => seen.has(uuid))
    const withNotes = plans.map((plan) =>
      plan.id === main ? { ...plan, notes: [...titles, ...links] } : plan,
    )
    const withdrawn = queue.finish()
    requests.finish()
    return withNotes.map((plan) => (withdrawn.length > 0 ? { ...plan, withdrawn } : plan))
  }
  return { read, has: (uuid) => seen.has(uuid), soFar, finish, mayGoOn: queue.isSettled }
}

/**
 * Returns a function that reports whether an entry's id has been read before. If it has, the function also notes whether the content
 * was the same.
 */
const repeats =
  (seen: Map<unknown, number>, notes: ImportNotes): ((fields: Fields) => boolean) =>
  ({ uuid, type, message }) => {
    if (typeof uuid !== 'string') return false
    const before = seen.get(uuid)
    // A small integer, to save memory: there is one per entry.
    const content = Number.parseInt(digest([type, message]).slice(0, 8), 16) | 0
    if (before === undefined) seen.set(uuid, content)
    else if (before === content) notes.leftOut(String(type), sameEntry)
    else notes.leftOut(String(type), otherEntry)
    return before !== undefined
  }

/**
 * Returns a function that identifies the sidechain of an entry: by its agent or, for older entries, which do not name the agent, by the
 * uuid of the chain's first entry.
 */
const sidechainRoots = (): ((fields: Fields) => string) => {
  const roots = new Map<string, string>()
  return ({ agentId, uuid, parentUuid }) => {
    const root = stringOf(agentId) ?? roots.get(String(parentUuid)) ?? stringOf(uuid) ?? 'sidechain'
    if (typeof uuid === 'string') roots.set(uuid, root)
    return root
  }
}

interface Reading {
  readonly current: SessionChain
  readonly queue: Queue
  readonly notes: ImportNotes
  readonly aside: SessionAnnotations
}

const readEntry = (entry: FileEntry, reading: Reading): void => {
  const { current, queue, notes, aside } = reading
  const { line, fields } = entry
  const { type, subtype, message, attachment } = fields
  if (type === 'queue-operation') return queue.operate(entry)
  if (type === 'system' && subtype === 'compact_boundary') return hidden.boundary(current, fields)
  if (type === 'system' && subtype === 'microcompact_boundary') return hidden.microcompact(current, entry)
  if (isFields(attachment) && attachment['type'] === 'queued_command')
    return readQueued(entry, attachment, reading)
  if (isFields(attachment) && type === 'attachment') return readAttached(entry, attachment, reading)
  if (aside.title(fields)) return pass(current, fields)
  if ((type !== 'user' && type !== 'assistant') || !isFields(message)) {
    const kind =
      type === 'system' && stringOf(subtype) !== undefined ? `system ${String(subtype)}` : String(type)
    notes.leftOut(kind, reasonFor(type))
    return pass(current, fields)
  }
  // The client shows the error to the user and retries: no request ever contains it.
  if (fields['isApiErrorMessage'] === true) {
    notes.leftOut('API error', 'shown to the user, never sent to the model')
    return pass(current, fields)
  }
  const spoken = messageOf(type, fields, message)
  const problem = messageProblem(spoken)
  if (problem !== undefined) {
    notes.bad(line, problem)
    return pass(current, fields)
  }
  if (fields['isCompactSummary'] === true && type === 'user') return hidden.summary(current, entry, spoken)
  if (type === 'assistant') return said.assistant(current, entry, spoken, stringOf(message['id']))
  queue.said(textOf(message['content']), 'user')
  said.user(current, entry, spoken)
}

const readQueued = (entry: FileEntry, sent: Fields, { current, queue, notes }: Reading): void => {
  const message = messageOf('user', entry.fields, { content: sent['prompt'] })
  const problem = messageProblem(message)
  if (problem !== undefined) {
    notes.bad(entry.line, problem)
    return pass(current, entry.fields)
  }
  const text = textOf(sent['prompt'])
  queue.said(text, 'attachment')
  notes.mapped(kindOf(text))
  said.addQueued(current, entry, message)
}

const readAttached = (entry: FileEntry, attachment: Fields, { current, notes }: Reading): void => {
  const kind = `attachment ${String(attachment['type'])}`
  const attached = attachmentIn(entry.fields, attachment)
  if ('leftOut' in attached) {
    if (attached.isUnknown) notes.note('the model was shown more than the file records: see what is left out')
    notes.leftOut(kind, attached.leftOut)
    return pass(current, entry.fields)
  }
  const message = { ...attached.message, messageId: placeOf(entry).ref }
  const problem = messageProblem(message)
  if (problem !== undefined) {
    notes.bad(entry.line, problem)
    return pass(current, entry.fields)
  }
  if (attached.isInferred)
    notes.note('attachments show only what the file records, without the text of the client around it')
  notes.mapped(kind)
  said.remark(current, entry, message)
}
