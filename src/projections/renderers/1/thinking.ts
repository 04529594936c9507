import { type Block, isBlock } from '../../../events/blocks.ts'
import type { Effective, Item } from '../../effective.ts'
import { isThinking, wellFormed } from './clean.ts'

/**
 * Returns a predicate, to be called for each item in order. It reports whether the content before the item is the same as when the item
 * was written; only then are the item's thinking blocks valid. The content differs
 *
 * - after a marker that is newer than the message,
 * - for a message written while content was hidden that has been restored since,
 * - if system, tools or model have changed since.
 *
 * A reply with a receipt was produced after the content of its request, not after events recorded in the meantime. If the reply was
 * interrupted, its thinking counts as changed.
 */
export const prefixUnchanged = ({ layout }: Effective): ((item: Item) => boolean) => {
  let youngestMarker = -1
  const { restored, promptSince = -1 } = layout
  /** Reports whether some content that has been restored since was hidden when the message was written. */
  const wasHidden = (position: number, since: number): boolean => {
    // The ranges ascend and do not overlap: of the ranges that begin before the message, the last one ends last.
    let [from, to] = [0, restored.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((restored[middle]?.after ?? 0) < position) from = middle + 1
      else to = middle
    }
    return since < (restored[from - 1]?.before ?? -Infinity)
  }
  return (item) => {
    if (item.kind !== 'message') {
      youngestMarker = Math.max(youngestMarker, item.position)
      return false
    }
    const { position, origin } = item
    // The reply was interrupted: its thinking may be incomplete.
    if (origin?.context && origin.stopReason === null) return false
    const since = origin?.context?.position ?? position - 1
    return since >= youngestMarker && since >= promptSince && !wasHidden(position, since)
  }
}

/** Reports whether a thinking block can be sent as stored: it is signed, and has no lone surrogates and no cache breakpoint. */
const isSendable = (block: Block): boolean =>
  !block['cache_control'] &&
  wellFormed(block) === block &&
  (!isBlock(block, 'thinking') || (block.signature !== undefined && block.signature !== ''))

/**
 * Returns the reason why a message's thinking cannot be sent; undefined if it can. The API refuses a message with only part of its
 * thinking, so one invalid block excludes all of it.
 *
 * @param stored the content as stored
 */
export const thinkingProblem = (
  content: readonly Block[],
  stored: readonly Block[],
  unchanged: boolean,
): string | undefined => {
  if (!content.some(isThinking)) return undefined
  const isSame = content
    .slice(0, content.findLastIndex(isThinking))
    .every((block, index) => block === stored[index])
  if (!unchanged || !isSame || content.findLastIndex(isThinking) !== stored.findLastIndex(isThinking))
    return 'what comes before it has changed since it was produced'
  if (!content.filter(isThinking).every(isSendable)) return 'it has no valid signature'
  const last = content.at(-1)
  return last && isThinking(last) ? 'it ends its message' : undefined
}
