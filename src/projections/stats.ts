import { type Block, isBlock } from '../events/blocks.ts'
import { contentOf, type ConversationEvent, type EventType, type Role } from '../events/events.ts'
import { effective, messagesOf } from './effective.ts'
import { full } from './full.ts'
import { lastOf, type Log } from './path.ts'
import { timeline } from './timeline.ts'
import { tokensByBytes } from './tokens.ts'

interface ToolStats {
  readonly name: string
  readonly calls: number
  readonly errors: number
}

/** Statistics of a conversation. Tokens are estimates. */
export interface Stats {
  /** Recording time of the first event, ISO 8601; empty without events. `updated` is the time of the last event. */
  readonly started: string
  readonly updated: string
  /** The last position; -1 without events. */
  readonly last: number
  readonly events: Readonly<Partial<Record<EventType, number>>>
  /** Number of messages ever appended, by role, including messages on abandoned branches. */
  readonly messages: Readonly<Record<Role, number>>
  /** Number of branches in the tree that rewinds create; 1 without rewinds. */
  readonly branches: number
  /** Number of messages that the model sees now; `hidden` and `abandoned` count the other messages. */
  readonly shown: number
  readonly hidden: number
  readonly abandoned: number
  /** Tokens of all messages ever appended (`stored`), and of the content that the model sees now (`shown`). */
  readonly tokens: { readonly stored: number; readonly shown: number }
  /** Tools called, most called first. */
  readonly tools: readonly ToolStats[]
}

/** Computes the statistics of a whole log, including abandoned branches. */
export const statsOf = (log: Log): Stats => {
  const messages = log.filter((event) => event.type === 'MessageAppended')
  const entries = full(log, { abandoned: true }).filter(({ kind }) => kind === 'message')
  const withStatus = (...statuses: readonly string[]): number =>
    entries.filter(({ status }) => statuses.includes(status)).length
  const shown = effective(log).items.flatMap(messagesOf)
  return {
    started: log[0]?.metadata.time ?? '',
    updated: log.at(-1)?.metadata.time ?? '',
    last: lastOf(log),
    events: countBy(log, ({ type }) => type),
    messages: { user: 0, assistant: 0, system: 0, ...countBy(messages, ({ data }) => data.role) },
    branches: new Set(timeline(log).map(({ branch }) => branch)).size,
    shown: withStatus('active'),
    hidden: withStatus('condensed', 'truncated'),
    abandoned: withStatus('abandoned'),
    tokens: {
      stored: tokensByBytes(messages.flatMap(blocksOf)),
      shown: tokensByBytes(shown.flatMap(({ content }) => content)),
    },
    tools: toolsOf(messages.flatMap(blocksOf)),
  }
}

const blocksOf = (event: ConversationEvent): readonly Block[] =>
  contentOf(event).flatMap(({ content }) => content)

const countBy = <T, K extends string>(
  values: readonly T[],
  keyOf: (value: T) => K,
): Partial<Record<K, number>> => {
  const counts: Partial<Record<K, number>> = {}
  for (const value of values) {
    const key = keyOf(value)
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

const toolsOf = (blocks: readonly Block[]): readonly ToolStats[] => {
  const nameOf = new Map<string, string>()
  const tools = new Map<string, { name: string; calls: number; errors: number }>()
  for (const block of blocks) {
    if (isBlock(block, 'tool_use')) {
      nameOf.set(block.id, block.name)
      const tool = tools.get(block.name) ?? { name: block.name, calls: 0, errors: 0 }
      tools.set(block.name, { ...tool, calls: tool.calls + 1 })
    } else if (isBlock(block, 'tool_result') && block.is_error === true) {
      const tool = tools.get(nameOf.get(block.tool_use_id) ?? '')
      if (tool) tool.errors++
    }
  }
  return [...tools.values()].toSorted((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1))
}
