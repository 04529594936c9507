import type { Effective, Item } from '../../../projections/effective.ts'
import type { TokenCount } from './tokens.ts'

/**
 * Returns the tokens of the messages added since a turn last tried to condense in a window of this size; undefined if no shown item
 * records an attempt. Because a truncation may have hidden the summary, the policy's newest marker records the count up to that marker.
 * If the attempt failed and nothing was hidden, the next reply records the failure.
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

/** Reports whether an item is a summary made by the policy, or records that such a summary failed. Shortened results do not count. */
const isAttempt = (item: Item): boolean =>
  item.kind === 'summary'
    ? item.method === 'model'
    : (failureOf(item) ?? policyOf(item)?.failed) !== undefined

/** Reports whether an item is a message, including a message whose tool results are shown shortened. */
const isSaid = (item: Item): boolean => item.kind === 'message' || policyOf(item)?.of === 'result'
