import { type Block, isBlock } from '../../../events/blocks.ts'
import type { Effective, Item } from '../../effective.ts'
import { isThinking, wellFormed } from './clean.ts'

/**
 * Tells for each item, in order, whether the same comes before it as when it was said: only then are its thinking blocks valid. It is
 * not so
 * - after a marker that is newer than the message,
 * - for a message that was said while something was hidden that has been restored since,
 * - when system, tools or model have changed since.
 *
 * A reply with a receipt was produced after what its request was made of, not after what has come meanwhile; if it was broken off, its
 * thinking counts as changed.
 */
export const prefixUnchanged = ({ layout }: Effective): ((item: Item) => boolean) => {
  let youngestMarker = -1
  const { restored, promptSince = -1 } = layout
  /** Whether something that has been restored since was hidden when this was said. */
  const wasHidden = (position: number, since: number): boolean => {
    // They ascend and do not overlap: of those that begin before it the last one ends last.
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
    // A reply that was broken off: its thinking may be incomplete.
    if (origin?.context && origin.stopReason === null) return false
    const since = origin?.context?.position ?? position - 1
    return since >= youngestMarker && since >= promptSince && !wasHidden(position, since)
  }
}

/** Whether a thinking block can be sent as it is stored: signed, whole characters, no cache breakpoint on it. */
const isSendable = (block: Block): boolean =>
  !block['cache_control'] &&
  wellFormed(block) === block &&
  (!isBlock(block, 'thinking') || (block.signature !== undefined && block.signature !== ''))

/**
 * Why a message's thinking cannot be sent, or undefined. All or nothing: a message with a part of it is refused.
 *
 * @param stored the content as it was said
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
