import { countTokens } from '../agent/context/tokens/tokens.ts'
import type { Effective, Item } from '../projections/effective.ts'
import { promptOf } from './needed.ts'
import { lifetimes, type Ttl } from './prompt-cache.ts'
import type { ReplyCall } from './replies.ts'

/**
 * A request is in the cache from now on. The answer is about how many of its tokens the cache has from those before it: who knows that need
 * not ask.
 */
export type SentBefore = (call: ReplyCall, shown: Effective, tokens: number) => () => number

interface Asked {
  readonly shown: Effective
  /** Milliseconds since 1970. */
  readonly time: number
  readonly model: string | undefined
}

/** How many earlier requests are looked at: a rewind leads back to one of them. */
const lookback = 20

/**
 * A prompt cache that has every beginning of what was sent: system prompt, tools and items. Requests are compared by what they are made of,
 * since the same beginning of a history is the same beginning of a request.
 *
 * @param ttl how long it keeps what was last used
 */
export const sentBefore = (ttl: Ttl = '5m'): SentBefore => {
  let before: readonly Asked[] = []
  return ({ asked, origin: { model } }, shown, tokens) => {
    const own: Asked = { shown, time: Date.parse(asked), model }
    const earlier = before
    before = [...before, own].slice(-lookback)
    return () => {
      const kept = earlier.filter((one) => own.time - one.time <= lifetimes[ttl] && hasSamePrompt(one, own))
      if (kept.length === 0) return 0
      let shared = 0
      // The newest first: it shares most, unless a rewind was between.
      for (const one of kept.toReversed()) shared = sharedBy(one.shown.items, shown.items, shared)
      const { prompt, total, items } = countTokens(shown)
      let read = prompt
      for (let index = 0; index < shared; index++) read += items[index]?.tokens ?? 0
      return Math.round((tokens * read) / Math.max(1, total))
    }
  }
}

const hasSamePrompt = (one: Asked, other: Asked): boolean =>
  one.model === other.model && promptOf(one.shown.outline) === promptOf(other.shown.outline)

/** How many items two histories begin with alike, if that is more than `known`. No position is used twice. */
const sharedBy = (one: readonly Item[], other: readonly Item[], known: number): number => {
  const isSame = (index: number): boolean => one[index]?.position === other[index]?.position
  if (one.length <= known || !isSame(known)) return known
  let shared = 0
  while (shared < one.length && isSame(shared)) shared++
  return Math.max(known, shared)
}
