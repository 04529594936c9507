import * as E from 'fp-ts/lib/Either.js'
import { type ContextSettings, limitsOf } from '../agent/context/policy/settings.ts'
import { countTokens } from '../agent/context/tokens/tokens.ts'
import type { ConversationEvent } from '../events/events.ts'
import { configurationOf, type Effective, effective } from '../projections/effective.ts'
import type { HistoryLayout } from '../projections/layout.ts'
import type { Log } from '../projections/path.ts'
import { costOf, priceOf, type Prices } from '../agent/models/prices.ts'
import { type UsageCounts, countsIn, inputOf } from '../agent/models/usage.ts'
import { type HiddenTerm, missingTerms } from './missing-terms.ts'
import { historiesOf } from './histories.ts'
import { type SentBefore, simulateCache } from './replay-cache.ts'
import { type Fit, fitInto, type FitReport, nothingFitted, type PolicyMarker, standIn } from './replay-fit.ts'
import { type Ttl, ttlOf } from './prompt-cache.ts'
import type { ReplayPolicy } from './replay-policy.ts'
import type { ReplayBuilder, ReplayedHistory } from './replayed-history.ts'
import { answerOf, type ReplyCall, repliesIn } from './replies.ts'
import { walkLog } from './walk-log.ts'

/** A call as another policy would have made it. */
export interface ReplayedCall {
  readonly call?: number
  /** Position of the recorded reply. */
  readonly position: number
  /** True if the policy would have shown the model the same history as recorded. */
  readonly isSame: boolean
  /**
   * Tokens of the request, and the number of them that the call would have read from the cache. Tokens are counted by the API for an
   * unchanged request and estimated for any other.
   */
  readonly tokens: number
  readonly read: number
  /** True if `tokens` exceeds the policy's limit, in which case the API might have refused the request. */
  readonly isOver: boolean
  /**
   * Cost in US dollars of the call with its recorded output, including the summaries written before it; absent if the model has no
   * price.
   */
  readonly usd?: number
  /** Numbers of markers that the policy would have written before the call, by kind. */
  readonly condensed: number
  readonly truncated: number
  readonly edited: number
  /** Number of messages that the policy would have hidden, and the terms in them that the recorded answer contains. */
  readonly hidden: number
  readonly needed: readonly HiddenTerm[]
}

/** Result of replaying a conversation with another policy. No model was called; the answers are the recorded ones. */
export interface ReplayReport {
  readonly conversation: string
  readonly policy: string
  readonly calls: readonly ReplayedCall[]
  /** Number of markers in the log that no context policy wrote, such as imported ones. The replay keeps them. */
  readonly keptMarkers: number
  readonly total: {
    readonly tokens: number
    readonly read: number
    readonly usd?: number
    readonly condensed: number
    readonly truncated: number
    readonly edited: number
    readonly over: number
    readonly needed: number
    readonly same: number
  }
}

/**
 * Replays a log with a policy.
 *
 * @param policy policy to replay; undefined for the recorded one
 */
export const replayLog = (
  conversation: string,
  log: Log,
  policy: ReplayPolicy | undefined,
  prices: Prices,
): ReplayReport => {
  const calls = repliesIn(log)
  const asked = calls.filter(({ at }) => at >= 0).toSorted((one, other) => one.at - other.at)
  let next = 0
  const markers = log.filter(isPolicyMarker)
  const policyRecorded = { markers, summarySize: summarySizeIn(markers) }
  const sent = simulateCache(policy?.cache)
  const done: ReplayedCall[] = []
  let recorded: PolicyMarker[] = []
  const recordedAt = historiesOf(log)
  for (const { event, replay } of walkLog(log, unrecordedPrompt(log, calls), isPolicyMarker)) {
    if (isPolicyMarker(event)) recorded.push(event)
    else if (event.type === 'Rewound') recorded = []
    for (let call = asked[next]; call?.at === event.position; call = asked[++next]) {
      const fit = fitFor(policy, policyRecorded, recorded, call)
      const fitted = fit ? fitInto(replay, event, fit) : nothingFitted
      recorded = []
      const shown = replay.effectiveAt(event.position)
      done.push(
        callReplayed(log, call, {
          replay,
          told: recordedAt(event.position).layout,
          shown,
          fit,
          fitted,
          sent,
          ttl: policy?.cache,
          prices,
        }),
      )
    }
  }
  return {
    conversation,
    policy: policy ? (policy.name ?? 'policy') : 'recorded',
    calls: done,
    keptMarkers: log.filter((event) => isMarker(event) && !isPolicyMarker(event)).length,
    total: totalOf(done),
  }
}

const isMarker = (event: ConversationEvent): event is PolicyMarker =>
  event.type === 'Condensed' || event.type === 'Truncated'

export const isPolicyMarker = (event: ConversationEvent): event is PolicyMarker =>
  isMarker(event) && event.data.policy?.of === 'context'

/**
 * Returns a stand-in for the system prompt and tools of an import, which the log lacks. Its size is derived from the first reply with
 * counts.
 */
const unrecordedPrompt = (log: Log, calls: readonly ReplyCall[]): ReplayedHistory['prompt'] => {
  const first = calls.find(({ origin }) => inputOf(countsIn(origin.usage)) > 0)
  if (!first || first.receipt) return undefined
  const { prompt, correction } = countTokens(effective(log, first.position))
  return standIn(prompt / correction, 'A prompt that was not recorded. ')
}

interface RecordedPolicy {
  readonly markers: readonly PolicyMarker[]
  /** Average size of the recorded summaries, in tokens. */
  readonly summarySize: number
}

/** Returns the settings for fitting a call's request; undefined if the recorded policy is unknown. */
const fitFor = (
  policy: ReplayPolicy | undefined,
  { markers, summarySize }: RecordedPolicy,
  recorded: readonly PolicyMarker[],
  { position }: ReplyCall,
): Fit | undefined => {
  if (!policy) {
    const marker = recorded[0] ?? markers.findLast((earlier) => earlier.position < position) ?? markers[0]
    const settings = marker?.data.policy?.settings as ContextSettings | undefined
    return settings && { settings, mode: 'condense', summaryTokens: 500, recorded, asRecorded: true }
  }
  const { context, mode = 'condense', summaryTokens = summarySize, clearResults } = policy
  return { settings: context, mode, summaryTokens, clearResults, recorded, asRecorded: false }
}

const usualSummary = 500

/** Returns the average size of the recorded summaries in tokens, or 500 if the log has no summaries. */
const summarySizeIn = (markers: readonly PolicyMarker[]): number => {
  const sizes = markers.flatMap((event) =>
    event.type === 'Condensed' && event.data.method === 'model' ? [event.data.tokens.after] : [],
  )
  return sizes.length === 0
    ? usualSummary
    : Math.max(1, Math.round(sizes.reduce((sum, one) => sum + one, 0) / sizes.length))
}

interface Surroundings {
  readonly replay: ReplayBuilder
  /** Layout of the recorded history at the position of the request. */
  readonly told: HistoryLayout
  readonly shown: Effective
  readonly fit: Fit | undefined
  readonly fitted: FitReport
  readonly sent: SentBefore
  readonly ttl: Ttl | undefined
  readonly prices: Prices
}

const callReplayed = (log: Log, call: ReplyCall, around: Surroundings): ReplayedCall => {
  const { replay, told, shown, fit, fitted, sent, ttl, prices } = around
  const isSame = isSameHistory(told, shown)
  const counts = countsIn(call.origin.usage)
  const counted = inputOf(counts)
  const isCounted = isSame && counted > 0
  // A cache lifetime other than the recorded one does not change the request, but changes the tokens read from the cache.
  const isPaid = isCounted && (ttl === undefined || ttl === ttlOf(call))
  const tokens = isCounted ? counted : countTokens(shown).total
  if (!isSame) replay.requestTokens.set(call.position, tokens)
  const wouldRead = sent(call, shown, tokens)
  const read = isPaid ? counts.cacheRead : wouldRead()
  const limits = fit && limitsOf(fit.settings, configurationOf(shown).model)
  const cacheWrite = tokens - read
  const cacheWrite1h = ttl === '1h' ? cacheWrite : 0
  const paid = isPaid
    ? counts
    : { input: 0, cacheRead: read, cacheWrite, cacheWrite1h, output: counts.output }
  const usd = usdOf(call, paid, fitted.summarized, prices)
  return {
    ...(call.number !== undefined && { call: call.number }),
    position: call.position,
    isSame,
    tokens,
    read,
    isOver: limits !== undefined && E.isRight(limits) && tokens > limits.right.allowed,
    ...(usd !== undefined && { usd }),
    condensed: fitted.condensed,
    truncated: fitted.truncated,
    edited: fitted.edited,
    hidden: replay.messagesHidden(),
    needed: missingTerms(shown, replay.search, answerOf(log, call)),
  }
}

const isSameHistory = ({ slots, configured }: HistoryLayout, { items, layout }: Effective): boolean =>
  slots.length === items.length &&
  slots.every(({ position }, index) => position === items[index]?.position) &&
  configured === layout.configured

/**
 * Returns the cost of a call and the summaries before it. A summary is priced by the model that wrote it, or by the call's model if the
 * summary's model has no price.
 */
const usdOf = (
  { origin }: ReplyCall,
  counts: UsageCounts,
  summarized: FitReport['summarized'],
  prices: Prices,
): number | undefined => {
  const price = priceOf(prices, origin.model ?? '')
  if (!price) return undefined
  const summaries = summarized.map((one) => costOf(one.counts, priceOf(prices, one.model ?? '') ?? price))
  return summaries.reduce((sum, one) => sum + one, costOf(counts, price))
}

const totalOf = (calls: readonly ReplayedCall[]): ReplayReport['total'] => {
  const sum = (of: (call: ReplayedCall) => number): number => calls.reduce((all, call) => all + of(call), 0)
  const isPriced = calls.every(({ usd }) => usd !== undefined)
  return {
    tokens: sum(({ tokens }) => tokens),
    read: sum(({ read }) => read),
    ...(isPriced && { usd: sum(({ usd = 0 }) => usd) }),
    condensed: sum(({ condensed }) => condensed),
    truncated: sum(({ truncated }) => truncated),
    edited: sum(({ edited }) => edited),
    over: sum(({ isOver }) => Number(isOver)),
    needed: sum(({ needed }) => needed.length),
    same: sum(({ isSame }) => Number(isSame)),
  }
}
