import { type Block, isBlock, type KnownBlock } from '../../../events/blocks.ts'
import { type Effective, isReply } from '../../../projections/effective.ts'
import { toolCalls } from '../../../projections/pairs.ts'
import { render } from '../../../projections/render/renderer.ts'

export type ToolUse = KnownBlock<'tool_use'>

/** A tool call without a result. */
export interface OpenCall {
  readonly call: ToolUse
  /** Position of the reply that makes the call. */
  readonly use: number
  /** Present if the content of that reply was erased, so that the input of the call is gone. */
  readonly isErased?: true
}

/** Returns the calls at the end of the history that have no result. */
export const openCalls = (effective: Effective): readonly OpenCall[] => {
  const { items } = effective
  const lastReply = items.findLastIndex(isReply)
  const start = items.findLastIndex((item, index) => index < lastReply && !isReply(item)) + 1
  const round = items.slice(start)
  return toolCalls({ ...effective, items: round }).flatMap(({ id, use, result }, index, all) => {
    const item = result === undefined ? round.find(({ position }) => position === use) : undefined
    const content = item?.kind === 'message' ? item.content : []
    // A reply may contain several calls with the same id; each result belongs to the first of them without a result.
    const nth = all.slice(0, index).filter((other) => other.id === id && other.use === use).length
    const call = content.filter(isCall).filter((block) => block.id === id)[nth]
    return call ? [{ call, use, ...(item?.erased !== undefined && { isErased: true as const }) }] : []
  })
}

/** Reports whether a reply or tool results are outstanding. */
export const isToDo = (now: Effective): boolean => openCalls(now).length > 0 || render(now).awaits === 'model'

export const isCall = (block: Block): block is ToolUse => isBlock(block, 'tool_use')
