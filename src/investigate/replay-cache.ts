import { countTokens } from '../agent/context/tokens/tokens.ts'
import type { Effective, Item } from '../projections/effective.ts'
import { promptOf } from './missing-terms.ts'
import { lifetimes, type Ttl } from './prompt-cache.ts'
import type { ReplyCall } from './replies.ts'

/**
 * Function that adds a request to the simulated cache and returns an estimator. The estimator returns the number of the request's
 * tokens that earlier requests have cached. It needs to be called only if this number is unknown.
 */
export type SentBefore = (call: ReplyCall, shown: Effective, tokens: number) => () => number

interface Asked {
  readonly shown: Effective
  /** Time of the request, in milliseconds since 1970. */
  readonly time: number
  readonly model: string | undefined
}

/** Number of earlier requests to compare with. After a rewind, an older request may share a longer prefix than the previous one. */
const lookback = 20

/**
 * Simulates a prompt cache that keeps every prefix of the requests: system prompt, tools and items. Compares histories instead of
 * requests, because equal prefixes of histories give equal prefixes of requests.
 *
 * @param ttl lifetime of an entry after its last use
 */
export const simulateCache = (ttl: Ttl = '5m'): SentBefore => {
  let before: readonly Asked[] = []
  return ({ asked, origin: { model } }, shown, tokens) => {
    const own: Asked = { shown, time: Date.parse(asked), model }
    const earlier = before
    before = [...before, own].slice(-lookback)
    return () => {
      const kept = earlier.filter((one) => own.time - one.time <= lifetimes[ttl] && hasSamePrompt(one, own))
      if (kept.length === 0) return 0
      let shared = 0
      // Newest first: the newest request shares the longest prefix unless a rewind came in between.
      for (const one of kept.toReversed()) shared = sharedBy(one.shown.items, shown.items, shared)
      const { prompt, total, items } = countTokens(shown)
      let read = prompt
      for (let index = 0; index < shared; index++) read += items[index]?.tokens ?? 0
      return Math.round((tokens * read) / Math.max(1, total))
    }
  }
}

const hasSamePrompt = (one: Asked, other: Asked): boolean =>
  one.model === other.model && promptOf(one.shown.layout) === promptOf(other.shown.layout)

/**
 * Returns the number of leading items that two histories share, at least `known`. Comparing positions is sufficient, because a position
 * identifies an item.
 */
const sharedBy = (one: readonly Item[], other: readonly Item[], known: number): number => {
  const isSame = (index: number): boolean => one[index]?.position === other[index]?.position
  if (one.length <= known || !isSame(known)) return known
  let shared = 0
  while (shared < one.length && isSame(shared)) shared++
  return Math.max(known, shared)
}
