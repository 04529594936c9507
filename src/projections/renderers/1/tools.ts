import { START } from '../../../events/events.ts'
import { configurationOf, type Effective, type Item, messagesOf } from '../../effective.ts'
import { toolsIn } from '../../layout.ts'
import type { Configuration } from '../../../events/events.ts'
import { isCompaction, isServerUse, isThinking } from './clean.ts'
import type { Block } from '../../../events/blocks.ts'

/**
 * The tools of a request. `isFormer` is true if the tools are no longer configured and are sent only because calls to them are shown.
 */
export interface ToolsSent {
  readonly tools?: Configuration['tools']
  readonly isFormer: boolean
}

/** Returns the configured tools. If no tools are configured, returns the former tools, provided that calls to them are shown. */
export const toolsOf = (effective: Effective): ToolsSent => {
  const { tools } = configurationOf(effective)
  const { formerTools } = effective.layout
  return formerTools && !toolsIn(configurationOf(effective)) && wereCalled(effective)
    ? { tools: formerTools, isFormer: true }
    : { ...(tools && { tools }), isFormer: false }
}

export const isAnyCall = (block: Block): boolean => block.type === 'tool_use' || isServerUse(block)

/**
 * Reports whether calls are shown that need the former tools: calls made under an earlier prompt, or calls made under the current
 * prompt before any thinking. Thinking is bound to the tools, so the first call or thinking under the current prompt decides the
 * result, and later appends do not change it.
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

/** Reports whether an item contains a compaction by the API, which replaces everything before it. */
const isCompacted = (item: Item): boolean =>
  item.kind === 'summary' && messagesOf(item).some(({ content }) => content.some(isCompaction))

const hasCall = (item: Item): boolean =>
  messagesOf(item).some(({ role, content }) => role === 'assistant' && content.some(isAnyCall))

const hasThought = (item: Item): boolean => messagesOf(item).some(({ content }) => content.some(isThinking))
