import { countTokens } from '../agent/context/tokens/tokens.ts'
import { effective } from '../projections/effective.ts'
import { lastOf, type Log } from '../projections/path.ts'
import type { Prices } from '../agent/models/prices.ts'
import type { CountedReply } from './breaks.ts'
import { type ChangeKind, changeBetween } from './cause.ts'
import { idleBetween, lifetimes, ratesOf, type Ttl, ttlOf } from './prompt-cache.ts'

/** Estimated input cost of the next call. */
export interface ResumeCost {
  /** Tokens of the next request without any new messages, and the number of these tokens in the cache if it has not expired. */
  readonly tokens: number
  readonly cached: number
  /** Seconds since the last reply, and the lifetime of the cache entries. */
  readonly idle: number
  readonly ttl: Ttl
  /** True if the cache should not have expired and the next request continues the last one. */
  readonly isWarm: boolean
  /** Change that prevents the next request from continuing the last one, and the position of the event that caused the change. */
  readonly change?: ChangeKind
  readonly event?: number
  /** Cost of the input in US dollars, now and with an expired cache; absent if the model has no price. Excludes output. */
  readonly usd?: number
  readonly usdCold?: number
}

export const resumeCostAt = (log: Log, last: CountedReply, prices: Prices, now: number): ResumeCost => {
  const shown = effective(log, lastOf(log))
  const tokens = countTokens(shown).total
  const { cacheRead, cacheWrite } = last.counts
  const change = changeBetween(log, effective(log, last.at), shown)
  const idle = idleBetween(last.answered, new Date(now).toISOString())
  const ttl = ttlOf(last)
  const isWarm = !change && idle * 1_000 < lifetimes[ttl]
  const cached = change ? 0 : Math.min(tokens, cacheRead + cacheWrite)
  const rates = ratesOf(prices, last)
  const usd = (read: number): number =>
    rates ? (read * rates.read + (tokens - read) * rates.write) / 1_000_000 : 0
  return {
    tokens,
    cached,
    idle,
    ttl,
    isWarm,
    ...(change && { change: change.kind, ...(change.event !== undefined && { event: change.event }) }),
    ...(rates && { usd: usd(isWarm ? cached : 0), usdCold: usd(0) }),
  }
}
