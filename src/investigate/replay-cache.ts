import { countTokens } from '../agent/context/tokens/tokens.ts'
import type { Effective } from '../projections/effective.ts'
import { promptOf } from './missing-terms.ts'
import { lifetimes, type Ttl } from './prompt-cache.ts'
import type { ReplyCall } from './replies.ts'

/**
 * Function that adds a request to the simulated cache and returns an estimator. The estimator returns the number of the request's
 * tokens that earlier requests have cached. It needs to be called only if this number is unknown.
 */
export type SentBefore = (call: ReplyCall, shown: Effective, tokens: number) => () => number

/** An earlier request. It keeps positions only: what is kept of each request is copied by the garbage collector again and again. */
interface Asked {
  /** Positions of the items. */
  readonly positions: readonly number[]
  /** The system prompt and the tools, as text. */
  readonly prompt: string | undefined
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
    const positions = shown.items.map(({ position }) => position)
    const own: Asked = { positions, prompt: promptOf(shown.layout), time: Date.parse(asked), model }
    const earlier = before
    before = [...before, own].slice(-lookback)
    return () => {
      const kept = earlier.filter((one) => own.time - one.time <= lifetimes[ttl] && hasSamePrompt(one, own))
      if (kept.length === 0) return 0
      let shared = 0
      // Newest first: the newest request shares the longest prefix unless a rewind came in between.
      for (const one of kept.toReversed()) shared = sharedBy(one.positions, positions, shared)
      const { prompt, total, items } = countTokens(shown)
      let read = prompt
      for (let index = 0; index < shared; index++) read += items[index]?.tokens ?? 0
      return Math.round((tokens * read) / Math.max(1, total))
    }
  }
}

const hasSamePrompt = (one: Asked, other: Asked): boolean =>
  one.model === other.model && one.prompt === other.prompt

/**
 * Returns the number of leading items that two histories share, at least `known`. Comparing positions is sufficient, because a position
 * identifies an item.
 */
const sharedBy = (one: readonly number[], other: readonly number[], known: number): number => {
  const isSame = (index: number): boolean => one[index] === other[index]
  if (one.length <= known || !isSame(known)) return known
  let shared = 0
  while (shared < one.length && isSame(shared)) shared++
  return Math.max(known, shared)
}
