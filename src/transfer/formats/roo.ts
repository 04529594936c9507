import { isBlock } from '../../events/blocks.ts'
import type { Message } from '../../events/events.ts'
import { type DocumentFormat, someHave } from './format.ts'
import type { ConversationPlan, ImportAction } from './plan.ts'
import type { Fields } from '../../events/json.ts'
import { digest, type FileEntry, idOf, messageProblem, type ImportNotes, stringOf, timeOf } from './source.ts'
import { blocksOf, leaveOutFields } from './messages.ts'

/** A message of the file. `hiddenBy` is the ref of the message that hides it. */
interface RooMessage {
  readonly ref: string
  readonly time: string | undefined
  readonly message: Message
  readonly marker: 'summary' | 'truncation' | undefined
  readonly hiddenBy: string | undefined
}

const tags = [
  'isSummary',
  'condenseId',
  'condenseParent',
  'isTruncationMarker',
  'truncationId',
  'truncationParent',
]
const known = new Set(['role', 'content', 'ts', ...tags])

/** Format for Roo Code sessions. It is recognised by its messages: no other format's messages have times and tags. */
export const roo: DocumentFormat = {
  name: 'roo',
  recognises: (messages) =>
    someHave(messages, ['ts', 'condenseParent', 'truncationParent', 'isSummary', 'isTruncationMarker']),
  parse: ({ messages }, notes) => parseRoo(messages, notes),
}

/**
 * Parses Roo Code's `api_conversation_history.json`, a list of messages. Some messages are tagged as hidden by a summary or a
 * truncation marker. A tag counts only if the file contains the summary or marker that it names.
 */
const parseRoo = (entries: readonly FileEntry[], notes: ImportNotes): readonly ConversationPlan[] => {
  const messages = readMessages(entries, notes)
  const first = entries[0]?.fields ?? {}
  const actions = actionsOf(messages, notes)
  // The task's id is only in the name of its folder; its first message does not change.
  const id = `roo-${digest([first['ts'], first['role'], first['content']])}`
  return actions.length === 0 ? [] : [{ id: idOf(id), actions }]
}

const readMessages = (entries: readonly FileEntry[], notes: ImportNotes): readonly RooMessage[] => {
  const refs = refMaker()
  const owners = new Map<string, string>()
  const read = entries.flatMap(({ line, fields }, index) => {
    const { role, content } = fields
    if (role === undefined && fields['type'] === 'reasoning') {
      notes.leftOut('reasoning', 'an item of another API, which a message cannot contain')
      return []
    }
    const message = { role, content: blocksOf(content) } as Message
    const problem = messageProblem(message)
    if (problem !== undefined) {
      notes.bad(line, `message ${index}: ${problem}`)
      return []
    }
    leaveOutFields(fields, known, notes)
    const ref = refs(fields)
    const [condensed, truncated] = [stringOf(fields['condenseId']), stringOf(fields['truncationId'])]
    const isSummary = fields['isSummary'] === true && condensed !== undefined
    const isTruncation = fields['isTruncationMarker'] === true && truncated !== undefined
    if (isSummary) owners.set(`condense ${condensed}`, ref)
    if (isTruncation) owners.set(`truncate ${truncated}`, ref)
    return [
      {
        ref,
        fields,
        message,
        marker: isSummary ? 'summary' : isTruncation ? 'truncation' : undefined,
      } as const,
    ]
  })
  return read.map(({ fields, ...rest }) => {
    const { condenseParent, truncationParent, ts } = fields
    const by =
      owners.get(`condense ${String(condenseParent)}`) ?? owners.get(`truncate ${String(truncationParent)}`)
    return { ...rest, time: timeOf(ts), hiddenBy: by }
  })
}

/**
 * Returns a function that derives refs from times. Indexes are not used because they change when summaries are inserted between older
 * messages.
 */
const refMaker = (): ((fields: Fields) => string) => {
  const seen = new Map<string, number>()
  return ({ ts, role, content }) => {
    const ref = typeof ts === 'number' ? String(ts) : digest([role, content])
    const count = (seen.get(ref) ?? 0) + 1
    seen.set(ref, count)
    return count === 1 ? ref : `${ref}-${count}`
  }
}

/**
 * Returns the actions of all messages, in file order. A summary or marker hides messages before it. A message that is hidden by an
 * earlier summary or marker is truncated right after it is added.
 */
const actionsOf = (messages: readonly RooMessage[], notes: ImportNotes): readonly ImportAction[] => {
  const members = new Map<string, Set<string>>()
  for (const { ref, hiddenBy } of messages)
    if (hiddenBy !== undefined) members.set(hiddenBy, (members.get(hiddenBy) ?? new Set()).add(ref))
  const actions: ImportAction[] = []
  const shown: string[] = []
  const said = new Set<string>()
  for (const each of messages) {
    const { ref, hiddenBy, marker } = each
    for (const action of hide(each, runsOf(shown, members.get(ref)), shown)) actions.push(action)
    said.add(ref)
    notes.mapped(marker ?? 'message')
    if (hiddenBy === undefined || !said.has(hiddenBy)) continue
    const reason = 'hidden by a summary or marker before it'
    actions.push({
      type: 'truncate',
      ref: `${ref}:hidden`,
      ...timed(each),
      covers: { first: ref, last: ref },
      reason,
    })
  }
  return actions
}

/** A slice of the shown items, by index, with both ends inclusive. */
type Run = readonly [first: number, last: number]

const runsOf = (shown: readonly string[], hidden: ReadonlySet<string> = new Set()): readonly Run[] => {
  const runs: [number, number][] = []
  shown.forEach((ref, index) => {
    const open = runs.at(-1)
    if (!hidden.has(ref)) return
    if (open?.[1] === index - 1) open[1] = index
    else runs.push([index, index])
  })
  return runs
}

/**
 * Returns the actions for a message and the slices that it hides. A single slice that ends right before the message becomes one
 * condense or truncate action. Otherwise, each slice is truncated and the message is added after them; the effective history is the
 * same.
 */
const hide = (each: RooMessage, runs: readonly Run[], shown: string[]): readonly ImportAction[] => {
  const { ref, message, marker } = each
  const isOne = runs[0]?.[1] === shown.length - 1
  const covers = runs.map(([first, last]) => ({ first: shown[first] ?? ref, last: shown[last] ?? ref }))
  const [only] = covers
  if (isOne && only) {
    shown.splice(runs[0]?.[0] ?? 0, shown.length, ref)
    return marker === 'summary'
      ? [{ type: 'condense', ref, ...timed(each), covers: only, summary: [message], method: 'client' }]
      : [{ type: 'truncate', ref, ...timed(each), covers: only, reason: textOf(message) }]
  }
  const parts = covers.map((part, index) => `${ref}:part-${index + 1}`)
  for (const [index, [first, last]] of [...runs.entries()].toReversed())
    shown.splice(first, last - first + 1, parts[index] ?? ref)
  shown.push(ref)
  return [
    ...covers.map((part, index): ImportAction => {
      const reason = `hidden by the ${marker ?? 'message'} that follows`
      return { type: 'truncate', ref: parts[index] ?? ref, ...timed(each), covers: part, reason }
    }),
    { type: 'message', ref, ...timed(each), message },
  ]
}

const timed = ({ time }: RooMessage): { readonly time?: string } => (time === undefined ? {} : { time })

const textOf = ({ content }: Message): string =>
  content.flatMap((block) => (isBlock(block, 'text') ? [block.text] : [])).join('\n')
