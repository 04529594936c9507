import * as E from 'fp-ts/lib/Either.js'
import { memo } from '../memo/memo.ts'
import type { Effective } from '../projections/effective.ts'
import type { Part, Sent } from '../receipts/canonical.ts'
import { fingerprintLength, fingerprintsOf } from '../receipts/fingerprints.ts'
import { sharedBy } from '../receipts/receipt-blocks.ts'
import { currentRenderer, requestOf } from '../receipts/request.ts'
import { sizeOf } from './breaks.ts'
import { idleBetween, lifetimes, type Ttl } from './prompt-cache.ts'
import type { ReplyCall } from './replies.ts'

/**
 * A request is in the cache from now on. The answer is about how many of its tokens the cache has from those before it: who knows that need
 * not ask, and then nothing is made of the request.
 */
export type SentBefore = (call: ReplyCall, shown: Effective, tokens: number) => () => number

interface Asked {
  readonly shown: Effective
  readonly asked: string
  readonly model: string | undefined
}

/** How many earlier requests are looked at: a rewind leads back to one of them. */
const lookback = 20

/** A prompt cache that has every beginning of what was sent. @param ttl how long it keeps what was last used */
export const sentBefore = (ttl: Ttl = '5m'): SentBefore => {
  let before: readonly Asked[] = []
  const requestFor = memo((shown: Effective) => requestOf(shown, { renderer: currentRenderer, cache: ttl }))
  const printsFor = memo((shown: Effective): string => {
    const made = requestFor(shown)
    return E.isRight(made) ? fingerprintsOf(made.right) : ''
  })
  return (call, shown, tokens) => {
    const own: Asked = { shown, asked: call.asked, model: call.origin.model }
    const earlier = before
    before = [...before, own].slice(-lookback)
    return () => readOf(own, earlier, tokens)
  }
  function readOf(own: Asked, earlier: readonly Asked[], tokens: number): number {
    const made = requestFor(own.shown)
    if (E.isLeft(made)) return 0
    const prints = printsFor(own.shown)
    let most = 0
    // The newest first: it shares most, unless a rewind was between.
    for (const { shown, model, asked } of earlier.toReversed()) {
      const isKept = model === own.model && idleBetween(asked, own.asked) * 1_000 <= lifetimes[ttl]
      const isMore = isKept && printsFor(shown).startsWith(prints.slice(0, (most + 1) * fingerprintLength))
      if (isMore) most = sharedBy(printsFor(shown), prints)
    }
    if (most === 0) return 0
    const sizes = sizesOf(made.right)
    let [read, whole] = [0, 0]
    for (const [index, size] of sizes.entries()) {
      if (index < most) read += size
      whole += size
    }
    return Math.round((tokens * read) / Math.max(1, whole))
  }
}

/** The sizes of a request's blocks, in the order of `partsOf`. */
const sizesOf = ({ tools = [], system = [], messages }: Sent): readonly number[] => [
  ...sizesOfParts(tools),
  ...(typeof system === 'string' ? [sizeOf(system)] : sizesOfParts(system)),
  ...messages.flatMap(({ content }) => sizesOfParts(content)),
]

// The next request has most contents again.
const sizesOfParts = memo((parts: readonly Part[]) => parts.map(sizeOf))
