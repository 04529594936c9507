import type { Receipt } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import { digestOf } from './canonical.ts'
import { fingerprintsOf } from './fingerprints.ts'
import { blocksOf } from './receipt-blocks.ts'
import type { ReceiptOptions } from './receipt-options.ts'
import type { RenderedRequest, RequestOptions } from './request.ts'

/**
 * What is recorded with the reply to a request: enough to make the request again from the log, and to prove that it is the same.
 * It does not grow with the conversation.
 *
 * @param effective what the request was made of; the receipt's position is its position
 * @param along what is sent with the request and cannot be told from the log alone
 */
export const receiptOf = (
  effective: Effective,
  rendered: RenderedRequest,
  options: RequestOptions,
  along: Pick<ReceiptOptions, 'betas' | 'container'> = {},
): Receipt => ({
  position: effective.at,
  digest: digestOf(rendered),
  options: {
    ...options,
    ...along,
    repairs: countsOf(rendered),
    blocks: blocksOf(effective, fingerprintsOf(rendered)),
  },
})

/** How many repairs there are of each kind. */
export const countsOf = ({ repairs }: Pick<RenderedRequest, 'repairs'>): ReceiptOptions['repairs'] => {
  const counts: Record<string, number> = {}
  for (const { kind } of repairs) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
