import * as E from 'fp-ts/lib/Either.js'
import type { Effective } from '../projections/effective.ts'
import type { Log } from '../projections/path.ts'
import { type SentRequest, textOf } from '../agent/receipts/canonical.ts'
import {
  fingerprintLength,
  fingerprintsOf,
  type PlacedPart,
  partsOf,
} from '../agent/receipts/fingerprints.ts'
import { requestIn } from '../agent/receipts/made-again.ts'
import { sharedPrefixLength } from '../agent/receipts/receipt-blocks.ts'
import type { Prices } from '../agent/models/prices.ts'
import { type UsageCounts, inputOf } from '../agent/models/usage.ts'
import { canonicalText } from './canonical.ts'
import { type ChangeKind, changeBetween } from './cause.ts'
import { idleBetween, lifetimes, ratesOf, ttlOf } from './prompt-cache.ts'
import type { ReplyCall } from './replies.ts'

/** Reason why a call could not read everything that the previous call had cached. */
export type BreakKind = ChangeKind | 'expired' | 'parameters' | 'no-breakpoints' | 'unexplained'

/** A call that could not read everything that the previous call had cached. */
export interface CacheBreak {
  /** Number of the call, if it has a receipt, and the position of its reply. */
  readonly call?: number
  readonly position: number
  readonly kind: BreakKind
  /** Position of the event that caused the break. */
  readonly event?: number
  /** First block that differs between the requests, such as `messages[3].content[0]`; absent if the receipts do not show it. */
  readonly path?: string
  /** Another change that would have broken the cache as well. */
  readonly also?: BreakKind
  /** Number of cached tokens that the call did not read. */
  readonly lost: number
  /** Estimated number of tokens that were sent before and are charged again at the full price. */
  readonly again: number
  /** Estimated extra cost of the tokens in `again`, in US dollars; absent if the model has no price. */
  readonly usd?: number
  /** Seconds between the previous reply and this request. */
  readonly idle: number
}

/** A reply with the token counts reported by the API. */
export interface CountedReply extends ReplyCall {
  readonly counts: UsageCounts
}

interface Known {
  readonly log: Log
  readonly prices: Prices
  readonly historyAt: (at: number) => Effective
}

export const breakBetween = (
  before: CountedReply,
  reply: CountedReply,
  known: Known,
): CacheBreak | undefined => {
  const { counts } = reply
  const lost = before.counts.cacheRead + before.counts.cacheWrite - counts.cacheRead
  if (lost <= 0) return undefined
  const found = causeOf(before, reply, known)
  const again = Math.min(found.again(lost), counts.input + counts.cacheWrite)
  const rates = ratesOf(known.prices, reply)
  return {
    ...(reply.number !== undefined && { call: reply.number }),
    position: reply.position,
    ...found.cause,
    lost,
    again,
    ...(rates && { usd: (again * (rates.write - rates.read)) / 1_000_000 }),
    idle: idleBetween(before.answered, reply.asked),
  }
}

interface Found {
  readonly cause: Pick<CacheBreak, 'kind' | 'event' | 'path' | 'also'>
  readonly again: (lost: number) => number
}

const causeOf = (before: CountedReply, reply: CountedReply, known: Known): Found => {
  const [old, now] = [before, reply].map(({ at }) => known.historyAt(at)) as [Effective, Effective]
  const requests = requestsOf(before, reply, old, now)
  const isSame = requests && requests.isContinued
  const isOther = before.origin.model !== reply.origin.model
  const isUnmarked = hasLostBreakpoints(before, reply)
  const change = isUnmarked
    ? { kind: 'no-breakpoints' as const }
    : isSame && !isOther
      ? undefined
      : changeIn(known.log, old, now, isOther, requests)
  const ttl = ttlOf(before)
  const isExpired =
    idleBetween(before.asked, reply.asked) * 1_000 > lifetimes[ttl] && !isPartlyRead(reply, requests)
  const again = (lost: number): number => (requests && !isUnmarked ? requests.again : lost)
  if (isExpired) return { cause: { kind: 'expired', ...(change && { also: change.kind }) }, again }
  if (change) return { cause: change, again }
  return { cause: otherCause(old, now), again }
}

/**
 * Reports whether a call lost the cache breakpoints that the previous call had. Without breakpoints nothing can be read from the cache,
 * regardless of other changes, and the system prompt is sent in another form.
 */
const hasLostBreakpoints = (before: CountedReply, { receipt, counts }: CountedReply): boolean =>
  before.receipt?.options['cache'] !== undefined &&
  receipt !== undefined &&
  receipt.options['cache'] === undefined &&
  counts.cacheRead + counts.cacheWrite === 0

/** Reports whether most tokens shared by the two requests were read from the cache, which shows that the cache had not expired. */
const isPartlyRead = ({ counts }: CountedReply, requests: Requests | undefined): boolean =>
  requests !== undefined && requests.sharedTokens > 0 && counts.cacheRead > requests.sharedTokens / 2

const changeIn = (
  log: Log,
  old: Effective,
  now: Effective,
  isOther: boolean,
  requests: Requests | undefined,
) => {
  const found = changeBetween(log, old, now)
  const path = requests?.path === undefined ? {} : { path: requests.path }
  if (isOther && found?.kind !== 'model') return { kind: 'model' as const }
  if (found) return { ...found, ...(found.kind !== 'model' && path) }
  return requests ? { kind: 'repair' as const, ...path } : undefined
}

/** Returns the cause of a break if the requests begin alike and the cache has not expired: changed parameters, or unexplained. */
const otherCause = (old: Effective, now: Effective): Found['cause'] => {
  const parameters = [old, now].map(({ layout }) => canonicalText(layout.configuration?.parameters))
  const { configured } = now.layout
  if (parameters[0] !== parameters[1])
    return { kind: 'parameters', ...(configured !== undefined && { event: configured }) }
  return { kind: 'unexplained' }
}

/** Comparison of two consecutive requests. */
interface Requests {
  /** Number of leading blocks that both requests share, and the estimated number of tokens in them. */
  readonly shared: number
  readonly sharedTokens: number
  /** True if the later request begins with all blocks of the earlier one. */
  readonly isContinued: boolean
  /** Path of the first block that differs. */
  readonly path?: string
  /** Estimated tokens that both requests contain but that the later request did not read from the cache. */
  readonly again: number
}

const requestsOf = (
  before: CountedReply,
  reply: CountedReply,
  old: Effective,
  now: Effective,
): Requests | undefined => {
  const [former, made] = [requestSent(before, old), requestSent(reply, now)]
  if (!former || !made) return undefined
  const [had, has] = [fingerprintsOf(former), fingerprintsOf(made)]
  const shared = sharedPrefixLength(had, has)
  const parts = partsOf(made)
  const sizes = parts.map(({ part }) => sizeOf(part))
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  const tokens = (size: number): number => (whole > 0 ? (size / whole) * inputOf(reply.counts) : 0)
  const known = new Set(printsIn(had))
  const repeated = printsIn(has).map((print, index) => (known.has(print) ? (sizes[index] ?? 0) : 0))
  const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0)
  const path = (parts[shared] ?? partsOf(former)[shared])?.path
  return {
    shared,
    sharedTokens: tokens(sum(sizes.slice(0, shared))),
    isContinued: shared * fingerprintLength >= had.length,
    again: Math.max(0, Math.round(tokens(sum(repeated)) - reply.counts.cacheRead)),
    ...(path !== undefined && { path }),
  }
}

/** Returns the size of a request part in characters of canonical JSON. */
const sizeOf = (part: PlacedPart['part']): number =>
  typeof part === 'string' ? JSON.stringify(part).length : textOf(part).length

/** Returns the request of a call, remade from its receipt; undefined without a usable receipt. */
const requestSent = ({ receipt }: CountedReply, now: Effective): SentRequest | undefined => {
  const made = receipt && requestIn({ kind: 'reply', receipt }, now)
  return made && E.isRight(made) ? made.right : undefined
}

const printsIn = (prints: string): readonly string[] =>
  prints.match(new RegExp(`.{${fingerprintLength}}`, 'g')) ?? []
