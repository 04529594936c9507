import { isFields } from '../events/json.ts'
import { priceOf, type Prices } from '../agent/models/prices.ts'
import { type UsageCounts, inputOf } from '../agent/models/usage.ts'
import type { ReplyCall } from './replies.ts'

/** Lifetime of an entry in the prompt cache after its last use. */
export type Ttl = '5m' | '1h'
export const lifetimes: Readonly<Record<Ttl, number>> = { '5m': 5 * 60_000, '1h': 60 * 60_000 }

/** Returns the lifetime of a call's cache breakpoints, from its receipt or otherwise from the API's counts. */
export const ttlOf = ({ receipt, origin }: Pick<ReplyCall, 'receipt' | 'origin'>): Ttl => {
  if (receipt?.options['cache'] === '1h') return '1h'
  const written = origin.usage?.['cache_creation']
  return isFields(written) && Number(written['ephemeral_1h_input_tokens'] ?? 0) > 0 ? '1h' : '5m'
}

/** Returns the seconds between two times, at least 0. */
export const idleBetween = (from: string, to: string): number =>
  Math.max(0, (Date.parse(to) - Date.parse(from)) / 1_000)

/**
 * Prices in US dollars per million tokens. `read`: input read from the cache; `write`: other input, at the price of a cache write if
 * the call wrote to the cache.
 */
export interface CallRates {
  readonly read: number
  readonly write: number
}

export const ratesOf = (
  prices: Prices,
  call: Pick<ReplyCall, 'receipt' | 'origin'> & { readonly counts: UsageCounts },
): CallRates | undefined => {
  const price = priceOf(prices, call.origin.model ?? '')
  if (!price) return undefined
  const { cacheWrite, cacheWrite1h } = call.counts
  const rates = price.long && inputOf(call.counts) > price.long.above ? price.long : price
  const write = cacheWrite === 0 ? rates.input : cacheWrite1h > 0 ? rates.cacheWrite1h : rates.cacheWrite5m
  return { read: rates.cacheRead, write }
}
