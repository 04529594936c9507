import { countTokens } from '../agent/context/tokens/tokens.ts'
import { effective } from '../projections/effective.ts'
import { lastOf, type Log } from '../projections/path.ts'
import type { Prices } from '../agent/turn/spending/prices.ts'
import type { CountedReply } from './breaks.ts'
import { type ChangeKind, changeBetween } from './cause.ts'
import { idleBetween, lifetimes, ratesOf, type Ttl, ttlOf } from './prompt-cache.ts'

/** What the input of the next call would cost, before it is made. */
export interface ResumeCost {
  /** Tokens of the next request, without what is said until then; and how many of them are in the cache, if it still has them. */
  readonly tokens: number
  readonly cached: number
  /** Seconds since the last reply, and how long the cache keeps what it has. */
  readonly idle: number
  readonly ttl: Ttl
  /** Whether the cache should still have it, and the next request still begins with it. */
  readonly isWarm: boolean
  /** What keeps the next request from continuing the last one, and the event that caused it. */
  readonly change?: ChangeKind
  readonly event?: number
  /** US dollars for the input now, and if the cache had run out; absent if the model has no price. Output is not in it. */
  readonly usd?: number
  readonly usdCold?: number
}

export const resumingAt = (log: Log, last: CountedReply, prices: Prices, now: number): ResumeCost => {
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
