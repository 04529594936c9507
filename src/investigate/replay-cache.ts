import * as E from 'fp-ts/lib/Either.js'
import type { Effective } from '../projections/effective.ts'
import { fingerprintsOf, partsOf } from '../receipts/fingerprints.ts'
import { sharedBy } from '../receipts/receipt-blocks.ts'
import { currentRenderer, requestOf } from '../receipts/request.ts'
import { canonicalText } from './canonical.ts'
import { idleBetween, lifetimes, type Ttl } from './prompt-cache.ts'
import type { ReplyCall } from './replies.ts'

/** About how many tokens of a request the cache has from those before it; the request is then in the cache, too. */
export type SentBefore = (call: ReplyCall, shown: Effective, tokens: number) => number

interface Sent {
  readonly prints: string
  readonly asked: string
  readonly model: string | undefined
}

/** How many earlier requests are looked at: a rewind leads back to one of them. */
const lookback = 20

/** A prompt cache that has every beginning of what was sent. @param ttl how long it keeps what was last used */
export const sentBefore = (ttl: Ttl = '5m'): SentBefore => {
  let before: readonly Sent[] = []
  return (call, shown, tokens) => {
    const made = requestOf(shown, { renderer: currentRenderer, cache: ttl })
    if (E.isLeft(made)) return 0
    const own: Sent = { prints: fingerprintsOf(made.right), asked: call.asked, model: call.origin.model }
    const shared = before
      .filter(
        ({ model, asked }) => model === own.model && idleBetween(asked, own.asked) * 1_000 <= lifetimes[ttl],
      )
      .map(({ prints }) => sharedBy(prints, own.prints))
    before = [...before, own].slice(-lookback)
    const most = Math.max(0, ...shared)
    if (most === 0) return 0
    const sizes = partsOf(made.right).map(({ part }) => canonicalText(part).length)
    const sum = (all: readonly number[]): number => all.reduce((total, size) => total + size, 0)
    return Math.round((tokens * sum(sizes.slice(0, most))) / Math.max(1, sum(sizes)))
  }
}
