import { messageOf, reasonFor } from './claude-code-entries.ts'
import { type Thread, thread } from './claude-code-thread.ts'
import type { ConversationPlan } from './plan.ts'
import {
  digest,
  entriesOf,
  type Entry,
  type Fields,
  idOf,
  isFields,
  messageProblem,
  type Notes,
  stringOf,
} from './source.ts'

/**
 * Claude Code's JSONL: a line an entry, a tree by `uuid` and `parentUuid`, in the order of time. The session is one conversation;
 * every subagent (`agentId`, or the root of a sidechain) is another.
 */
export const parseClaudeCode = (text: string, notes: Notes): readonly ConversationPlan[] => {
  const threads = new Map<string, Thread>()
  const rootOf = sidechainRoots()
  let session: string | undefined
  let first: Fields | undefined
  for (const entry of entriesOf(text, notes)) {
    first ??= entry.fields
    session ??= stringOf(entry.fields['sessionId'])
    const key = entry.fields['isSidechain'] === true ? rootOf(entry.fields) : ''
    const current = threads.get(key) ?? thread(notes)
    threads.set(key, current)
    read(entry, current, notes)
  }
  const id = session ?? `claude-code-${digest(first)}`
  return [...threads].flatMap(([key, { finish }]) => {
    const steps = finish()
    if (steps.length === 0) return []
    if (key !== '') notes.note(`subagent ${key} of session ${id} is a conversation of its own`)
    return [{ id: idOf(key === '' ? id : `${id}:${key}`), steps }]
  })
}

/** The agent of a sidechain's entry; of the older ones that do not name it, the uuid of the chain's first entry. */
const sidechainRoots = (): ((fields: Fields) => string) => {
  const roots = new Map<string, string>()
  return ({ agentId, uuid, parentUuid }) => {
    const root = stringOf(agentId) ?? roots.get(String(parentUuid)) ?? stringOf(uuid) ?? 'sidechain'
    if (typeof uuid === 'string') roots.set(uuid, root)
    return root
  }
}

const read = ({ line, fields }: Entry, current: Thread, notes: Notes): void => {
  const { type, subtype, message } = fields
  if (current.has(fields['uuid'])) return notes.leftOut(String(type), 'the same entry a second time')
  if (type === 'system' && subtype === 'compact_boundary') return current.boundary(fields)
  if ((type !== 'user' && type !== 'assistant') || !isFields(message)) {
    const kind =
      type === 'system' && stringOf(subtype) !== undefined ? `system ${String(subtype)}` : String(type)
    notes.leftOut(kind, reasonFor(type))
    return current.pass(fields)
  }
  // The client shows the error to the user and tries again: no request ever holds it.
  if (fields['isApiErrorMessage'] === true) {
    notes.leftOut('API error', 'shown to the user, never sent to the model')
    return current.pass(fields)
  }
  const said = messageOf(type, fields, message)
  const problem = messageProblem(said)
  if (problem !== undefined) {
    notes.bad(line, problem)
    return current.pass(fields)
  }
  if (type === 'assistant') current.assistant({ line, fields }, said, stringOf(message['id']))
  else if (fields['isCompactSummary'] === true) current.summary({ line, fields }, said)
  else current.user({ line, fields }, said)
}
