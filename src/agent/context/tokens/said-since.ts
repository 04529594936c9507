import type { Effective, Item } from '../../../projections/effective.ts'
import type { TokenCount } from './tokens.ts'

/**
 * Returns the tokens said since a turn last tried to condense in a window of this size; undefined if no shown item records an attempt.
 * The policy's newest marker records how much had been said by then, as a truncation may have hidden the summary. If the attempt failed
 * and nothing was hidden, the next reply records it.
 */
export const tokensSince = ({ items }: Effective, count: TokenCount, window: number): number | undefined => {
  let newest: Item | undefined
  for (const item of items)
    if ((ofContext(item) || failureOf(item)) && item.position > (newest?.position ?? -1)) newest = item
  const before = newest && (isAttempt(newest) ? 0 : policyOf(newest)?.said)
  if (!newest || before === undefined || windowOf(newest) !== window) return undefined
  const position = failureOf(newest) ? newest.position - 1 : newest.position
  return count.items.reduce((sum, { tokens }, index) => {
    const item = items[index]
    return item && item.position > position && isSaid(item) ? sum + tokens : sum
  }, before)
}

const policyOf = (item: Item) => (item.kind === 'message' ? undefined : item.policy)
const failureOf = (item: Item) => (item.kind === 'message' ? item.origin?.condenseFailed : undefined)
const windowOf = (item: Item): unknown => failureOf(item)?.window ?? policyOf(item)?.settings?.['window']
const ofContext = (item: Item): boolean => policyOf(item)?.of === 'context'

/** True if the item is a summary of the policy, or records that one failed. Shortening results is neither. */
const isAttempt = (item: Item): boolean =>
  item.kind === 'summary'
    ? item.method === 'model'
    : (failureOf(item) ?? policyOf(item)?.failed) !== undefined

/** True for messages and for partly shown results: these count as their messages. */
const isSaid = (item: Item): boolean => item.kind === 'message' || policyOf(item)?.of === 'result'
