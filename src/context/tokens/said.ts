import type { Effective, Item } from '../../projections/effective.ts'
import type { TokenCount } from './tokens.ts'

/**
 * Tokens said since a turn last tried to condense in a window of this size; undefined if none did, as far as is shown. The newest
 * marker of the policy says what had been said by then, as a truncation may have hidden the summary; the reply after an attempt that
 * has failed says so, as nothing may have been hidden then. It came behind the attempt.
 */
export const saidSince = ({ items }: Effective, count: TokenCount, window: number): number | undefined => {
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

/** Whether it is a summary of the policy, or tells of one that failed; cutting results down is neither. */
const isAttempt = (item: Item): boolean =>
  item.kind === 'summary'
    ? item.method === 'model'
    : (failureOf(item) ?? policyOf(item)?.failed) !== undefined

/** A result that is shown in part is as new as its message. */
const isSaid = (item: Item): boolean => item.kind === 'message' || policyOf(item)?.of === 'result'
