import { type Fields, isFields } from '../../events/json.ts'
import type { PlannedNote } from './plan.ts'
import { digest, type ImportNotes, stringOf, timeOf } from './source.ts'

/** Annotations of a session other than its messages: its titles, and the tool call that started each subagent. */
export interface SessionAnnotations {
  /** Records the subagent that an entry mentions and the tool call that started it. */
  readonly see: (fields: Fields) => void
  readonly title: (fields: Fields) => boolean
  /**
   * Returns the session's titles as notes.
   *
   * @param has function that reports whether an entry with this uuid is in the file, because a summary may belong to another session
   */
  readonly titles: (has: (uuid: unknown) => boolean) => readonly PlannedNote[]
  /** Id of the tool call that started each subagent, by agent id, in the order in which the file first names the agents. */
  readonly calls: ReadonlyMap<string, string>
}

interface Title {
  readonly kind: string
  readonly text: string
  readonly time: string | undefined
  readonly leaf?: unknown
}

export const beside = (notes: ImportNotes): SessionAnnotations => {
  const found: Title[] = []
  const calls = new Map<string, string>()
  return {
    calls,
    see: (fields) => {
      const [agent, call] = startIn(fields)
      if (agent !== undefined && call !== undefined && !calls.has(agent)) calls.set(agent, call)
    },
    title: (fields) => {
      const { type, leafUuid } = fields
      const text = textIn(fields)
      if (text === undefined || text.trim() === '') return false
      const time = timeOf(fields['timestamp'])
      found.push({ kind: String(type), text, time, ...(type === 'summary' && { leaf: leafUuid }) })
      return true
    },
    titles: (has) => planned(found, has, notes),
  }
}

const textIn = ({ type, summary, customTitle, aiTitle }: Fields): string | undefined => {
  if (type === 'summary') return stringOf(summary)
  if (type === 'custom-title') return stringOf(customTitle)
  return type === 'ai-title' ? stringOf(aiTitle) : undefined
}

/**
 * Returns the titles in order, without repeated or overridden ones. A title chosen by the user stays until the user chooses another.
 */
const planned = (
  found: readonly Title[],
  has: (uuid: unknown) => boolean,
  notes: ImportNotes,
): readonly PlannedNote[] => {
  const titles: PlannedNote[] = []
  const before = new Map<string, { readonly count: number; readonly text: string }>()
  for (const { kind, text, time, leaf } of found) {
    if (stringOf(leaf) !== undefined && !has(leaf)) {
      notes.leftOut(kind, 'a title of another session')
      continue
    }
    notes.mapped(kind)
    const { count, text: last } = before.get(kind) ?? { count: 0, text: '' }
    const isOverruled = kind !== 'custom-title' && before.has('custom-title')
    // The recorder repeats titles.
    if (text === last || isOverruled) continue
    before.set(kind, { count: count + 1, text })
    // A summary is not numbered, because only a longer file may show that an earlier summary belongs to this session.
    const ref = `${kind} ${kind === 'summary' ? digest(text) : count + 1}`
    const data = { kind: 'title', data: text }
    titles.push({ ref, ...(time !== undefined && { time }), type: 'Noted', data })
  }
  return titles
}

/** Returns the id of the subagent that an entry is about, and the id of the tool call that started the subagent. */
const startIn = ({
  toolUseResult,
  message,
  data,
  parentToolUseID,
}: Fields): readonly [agent?: string, call?: string] => {
  if (isFields(data) && stringOf(data['agentId']) !== undefined)
    return [stringOf(data['agentId']), stringOf(parentToolUseID)] as readonly [string?, string?]
  if (!isFields(toolUseResult) || !isFields(message) || !Array.isArray(message['content'])) return []
  const results = message['content'].filter((block) => isFields(block) && block['type'] === 'tool_result')
  const [result] = results as readonly Fields[]
  // With several results, there is no telling which one is the agent's.
  return results.length === 1
    ? ([stringOf(toolUseResult['agentId']), stringOf(result?.['tool_use_id'])] as readonly [string?, string?])
    : []
}

/** Returns the link from a subagent to the session that started it. */
export const subagentOf = (session: string, call: string | undefined): PlannedNote => ({
  ref: call === undefined ? 'subagent-of' : `subagent-of ${call}`,
  type: 'Linked',
  data: { relation: 'subagent-of', conversation: session, ...(call !== undefined && { call }) },
})

/** Returns the link from a session to a subagent that it started, which has its own file. */
export const hasSubagent = (subagent: string, call: string): PlannedNote => ({
  ref: `has-subagent ${subagent} ${call}`,
  type: 'Linked',
  data: { relation: 'has-subagent', conversation: subagent, call },
})
