import { START } from '../../events/events.ts'
import { configurationOf, type Effective, type Item, messagesOf } from '../effective.ts'
import { toolsIn } from '../outline.ts'
import type { Configuration } from '../../events/events.ts'
import { isCompaction, isServerUse } from './clean.ts'
import type { Block } from '../../events/blocks.ts'

/** The tools of a request. `isFormer`: they are in force no more, and are named because calls of them are shown. */
export interface ToolsSent {
  readonly tools?: Configuration['tools']
  readonly isFormer: boolean
}

/** The tools in force; where there are none, those that were, if calls are shown that were made then. */
export const toolsOf = (effective: Effective): ToolsSent => {
  const { tools } = configurationOf(effective)
  const { formerTools } = effective.outline
  return formerTools && !toolsIn(configurationOf(effective)) && wereCalled(effective)
    ? { tools: formerTools, isFormer: true }
    : { ...(tools && { tools }), isFormer: false }
}

export const isAnyCall = (block: Block): boolean => block.type === 'tool_use' || isServerUse(block)

/** Whether calls are shown that were made under an earlier prompt. What is appended later changes nothing of it. */
const wereCalled = ({ items, outline }: Effective): boolean => {
  const { promptSince = START } = outline
  const end = items.findIndex(({ kind, position }) => kind === 'message' && position > promptSince)
  const before = end < 0 ? items : items.slice(0, end)
  return before.slice(Math.max(0, before.findLastIndex(isCompacted))).some(hasCall)
}

/** A compaction of the API's stands for everything before it. */
const isCompacted = (item: Item): boolean =>
  item.kind === 'summary' && messagesOf(item).some(({ content }) => content.some(isCompaction))

const hasCall = (item: Item): boolean =>
  messagesOf(item).some(({ role, content }) => role === 'assistant' && content.some(isAnyCall))
