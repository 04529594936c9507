import { START } from '../../../events/events.ts'
import { configurationOf, type Effective, type Item, messagesOf } from '../../effective.ts'
import { toolsIn } from '../../layout.ts'
import type { Configuration } from '../../../events/events.ts'
import { isCompaction, isServerUse, isThinking } from './clean.ts'
import type { Block } from '../../../events/blocks.ts'

/** The tools of a request. `isFormer`: they are no longer in force, and are sent because calls of them are shown. */
export interface ToolsSent {
  readonly tools?: Configuration['tools']
  readonly isFormer: boolean
}

/** The tools in force; if there are none, the former ones, if calls are shown that were made with them. */
export const toolsOf = (effective: Effective): ToolsSent => {
  const { tools } = configurationOf(effective)
  const { formerTools } = effective.layout
  return formerTools && !toolsIn(configurationOf(effective)) && wereCalled(effective)
    ? { tools: formerTools, isFormer: true }
    : { ...(tools && { tools }), isFormer: false }
}

export const isAnyCall = (block: Block): boolean => block.type === 'tool_use' || isServerUse(block)

/**
 * Whether calls are shown that need the former tools: calls that were made under an earlier prompt, or since then before any thinking.
 * Thinking is bound to the tools, so the first call or thinking decides, and what is appended later changes nothing.
 */
const wereCalled = ({ items, layout }: Effective): boolean => {
  const { promptSince = START } = layout
  const end = items.findIndex(({ kind, position }) => kind === 'message' && position > promptSince)
  const since = end < 0 ? items.length : end
  const first = Math.max(0, items.slice(0, since).findLastIndex(isCompacted))
  if (items.slice(first, since).some(hasCall)) return true
  const deciding = items.slice(since).find((item) => hasCall(item) || hasThought(item))
  return deciding !== undefined && !hasThought(deciding)
}

/** A compaction of the API replaces everything before it. */
const isCompacted = (item: Item): boolean =>
  item.kind === 'summary' && messagesOf(item).some(({ content }) => content.some(isCompaction))

const hasCall = (item: Item): boolean =>
  messagesOf(item).some(({ role, content }) => role === 'assistant' && content.some(isAnyCall))

const hasThought = (item: Item): boolean => messagesOf(item).some(({ content }) => content.some(isThinking))
