import type { Receipt } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import { itemPrintsIn } from './receipt-blocks.ts'
import { receiptDigest } from './receipt-digest.ts'
import type { ReceiptOptions } from './receipt-options.ts'
import type { RenderedRequest, RequestOptions } from './request.ts'

/**
 * Creates the receipt to record with the reply to a request. It contains enough to remake the request from the log and to prove that
 * the result is the same. Its size does not grow with the conversation.
 *
 * @param effective the history that the request was made from; the receipt's position is its position
 * @param along the fields sent with the request that cannot be derived from the log alone
 */
export const receiptOf = (
  effective: Effective,
  rendered: RenderedRequest,
  options: RequestOptions,
  along: Pick<ReceiptOptions, 'betas' | 'container'> = {},
): Receipt => ({
  position: effective.at,
  digest: receiptDigest(effective, rendered),
  options: {
    ...options,
    ...along,
    repairs: countsOf(rendered),
    keyed: true,
    items: itemPrintsIn(effective),
  },
})

/** Returns the number of repairs of each kind. */
export const countsOf = ({ repairs }: Pick<RenderedRequest, 'repairs'>): ReceiptOptions['repairs'] => {
  const counts: Record<string, number> = {}
  for (const { kind } of repairs) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
