import * as E from 'fp-ts/lib/Either.js'
import { historyTokens } from '../agent/context/tokens/history.ts'
import { countTokens } from '../agent/context/tokens/tokens.ts'
import type { Configuration, Receipt } from '../events/events.ts'
import { configurationOf, effective, type Item, itemOf } from '../projections/effective.ts'
import { full } from '../projections/full.ts'
import { type Log, path } from '../projections/path.ts'
import { isCompaction, type Repair } from '../projections/render/renderer.ts'
import type { CallName } from '../events/call-name.ts'
import type { ModelCall } from '../agent/receipts/calls.ts'
import { callOutOfRange, type CallOutOfRange } from '../agent/receipts/errors.ts'
import { receiptOptionsIn } from '../agent/receipts/receipt-options.ts'
import { requestOf } from '../agent/receipts/request.ts'
import { canonicalText } from './canonical.ts'
import { type Difference, differences, type HistorySnapshot } from './differences.ts'
import { type HiddenTerm, missingTerms, searchIn } from './missing-terms.ts'
import { packedItemIn } from './packed-log.ts'
import { rewindsBetween } from './rewinds.ts'
import { answerOf, type AskedCall, askedCallsIn } from './replies.ts'
import { once } from '../result/once.ts'

/** An item shown to the model. */
export interface ShownItem {
  readonly position: number
  readonly kind: Item['kind']
  readonly tokens: number
}

/** Messages that a single marker hid from the model. */
export interface HiddenPart {
  /** Position of the marker. */
  readonly by: number
  readonly kind: 'condensed' | 'truncated'
  readonly messages: number
  readonly tokens: number
}

/** Explanation of a model's answer: its context, and the differences from the previous call with their causes. */
export interface Why {
  readonly conversation: string
  /** Number of the call; for a reply without a receipt, `p` followed by its position. */
  readonly call: CallName
  readonly kind: ModelCall['kind']
  /** Positions of the answer and of the history for which it was requested. */
  readonly position: number
  readonly at: number
  /** True if a rewind has abandoned the answer. */
  readonly isAbandoned?: true
  readonly model?: string
  /**
   * Present if the call has no receipt, so that the explanation is derived from the log before the reply. `unrecorded` lists the
   * configuration fields that the log lacks; the request may have contained them.
   */
  readonly derived?: { readonly unrecorded: readonly (keyof Configuration)[] }
  /** Tokens of the context, as counted by the API or otherwise estimated. */
  readonly tokens: number
  readonly shown: readonly ShownItem[]
  readonly hidden: readonly HiddenPart[]
  /** Number of messages on abandoned branches, which were not shown. */
  readonly abandoned: number
  /** Previous reply, to which the call is compared; absent for the first call. */
  readonly before?: CallName
  readonly differences: readonly Difference[]
  /**
   * Configuration fields that differ from the previous call, and the position of the event that changed them. `event` is absent if only
   * the model names in the replies differ.
   */
  readonly configuration?: { readonly event?: number; readonly fields: readonly (keyof Configuration)[] }
  /**
   * Repairs that made the request differ from the stored events, derived from the receipt. `isNew` is true if the previous call did not
   * need the repair.
   */
  readonly repairs: readonly (Pick<Repair, 'position' | 'detail'> & {
    readonly kind: string
    readonly isNew: boolean
  })[]
  /** Terms used in the answer that occurred only in hidden messages. */
  readonly needed: readonly HiddenTerm[]
}

/**
 * Explains a call.
 *
 * @param name name of the call; undefined for the last call on the current path, or the last one if all are abandoned
 */
export const whyCall = (
  conversation: string,
  log: Log,
  name: CallName | undefined,
): E.Either<CallOutOfRange, Why> => {
  const calls = askedCallsIn(log)
  const current = new Set(path(log))
  const isCurrent = ({ position }: AskedCall): boolean => current.has(position)
  const kept = calls.findLastIndex(isCurrent)
  const index = name !== undefined ? indexOf(calls, name) : kept < 0 ? calls.length - 1 : kept
  const call = calls[index]
  if (!call) return E.left(noSuchCall(conversation, name, calls))
  const earlier = calls.slice(0, index).findLast(({ kind }) => kind === 'reply')
  const { model } = call.origin
  const now = momentOf(log, call)
  const before = earlier && momentOf(log, earlier)
  const configuration = before && configurationChange(log, [earlier, before], [call, now])
  return E.right({
    conversation,
    call: call.name,
    kind: call.kind,
    position: call.position,
    at: call.at,
    ...(!isCurrent(call) && { isAbandoned: true }),
    ...(model !== undefined && { model }),
    ...(!call.receipt && { derived: { unrecorded: unrecordedIn(call, now) } }),
    tokens: now.total,
    shown: now.effective.items.map(({ position, kind }) => ({
      position,
      kind,
      tokens: now.tokensAt(position),
    })),
    hidden: hiddenIn(now),
    abandoned: now.entries.filter(({ kind, status }) => kind === 'message' && status === 'abandoned').length,
    ...(earlier && { before: earlier.name }),
    differences: before ? differences(log, before, now) : [],
    ...(configuration && { configuration }),
    repairs: repairsOf(call, now, before, earlier),
    needed: missingTerms(now.effective, searchIn(now.entries), answerOf(log, call)),
  })
}

/**
 * Reports whether a name refers to the call or to one of its parts. A name that gives a position matches the call at that position,
 * even if the call also has a number.
 */
const isNamed = ({ name, parts }: AskedCall, asked: CallName): boolean =>
  name === asked || parts.some((position) => asked === `p${position}`)

/** Returns the index of the named call. A number that no call has is the position of a reply without a receipt. */
const indexOf = (calls: readonly AskedCall[], name: CallName): number => {
  const index = calls.findIndex((call) => isNamed(call, name))
  return index >= 0 || typeof name === 'string'
    ? index
    : calls.findIndex((call) => !call.receipt && isNamed(call, `p${name}`))
}

const noSuchCall = (
  conversation: string,
  name: CallName | undefined,
  calls: readonly AskedCall[],
): CallOutOfRange => {
  const last = calls.findLast(({ receipt }) => !receipt)
  const numbered = calls.filter(({ receipt }) => receipt)
  const at = Number(String(name ?? '').replace('p', ''))
  const next = name === undefined ? undefined : calls.find(({ position }) => position >= at)
  const meant = calls.find((call) => isNamed(call, `p${at}`))
  const near = next && next !== last ? `, the next one from ${at} on is ${next.name}` : ''
  const others = last
    ? `${numbered.length > 0 ? '; ' : ': '}name a reply without one by p and its position; the last is ${last.name}${near}`
    : ''
  const hint = meant ? `; the reply at ${at} is call ${meant.name}` : ''
  return callOutOfRange(conversation, name, numbered.length, others + hint)
}

interface Counted extends HistorySnapshot {
  readonly total: number
}

/**
 * Returns the history shown in a call. Tokens are the API's counts for the call, if available and if the API did not condense the
 * context before answering.
 */
const momentOf = (log: Log, { kind, at, position, origin }: AskedCall): Counted => {
  const shown = effective(log, at)
  const counted = once(() => {
    const { items, total } = historyTokens(log.slice(0, at + 1), packedItemIn)
    const tokens = new Map(items.map((item) => [item.position, item.tokens]))
    const answer = log[position]
    const reply = kind === 'reply' && answer ? itemOf(answer) : undefined
    const isCounting = reply?.kind === 'message' && !reply.content.some(isCompaction)
    const own = isCounting ? { ...reply, origin } : undefined
    const asked = own && countTokens({ ...shown, at: position, items: [...shown.items, own] })
    if (asked?.anchor !== position) return { tokens, total }
    for (const item of asked.items) tokens.set(item.position, item.tokens)
    return { tokens, total: asked.total - (tokens.get(position) ?? 0) }
  })
  const entries = once(() => full(log, { at, abandoned: true }, packedItemIn))
  const entriesAt = once(() => new Map(entries().map((entry) => [entry.position, entry])))
  // Computed on demand: little is needed for the previous call, and computing everything takes long for a long log.
  return {
    effective: shown,
    get entries() {
      return entries()
    },
    entryAt: (where) => entriesAt().get(where),
    tokensAt: (where) => counted().tokens.get(where) ?? 0,
    get total() {
      return counted().total
    },
  }
}

/** Returns the configuration fields of a request that the log lacks. */
const unrecordedIn = (
  { origin }: AskedCall,
  { effective: shown }: HistorySnapshot,
): readonly (keyof Configuration)[] => {
  const known = { ...origin, ...configurationOf(shown) }
  return fields.filter((field) => !(field in known))
}

const hiddenIn = ({ entries, tokensAt }: Counted): readonly HiddenPart[] => {
  const parts = new Map<number, HiddenPart>()
  for (const { kind, status, by, position } of entries) {
    if (kind !== 'message' || by === undefined || (status !== 'condensed' && status !== 'truncated')) continue
    const { messages, tokens } = parts.get(by) ?? { messages: 0, tokens: 0 }
    parts.set(by, { by, kind: status, messages: messages + 1, tokens: tokens + tokensAt(position) })
  }
  return [...parts.values()]
}

const fields = ['model', 'system', 'tools', 'parameters'] as const

type Asked = readonly [call: AskedCall, moment: HistorySnapshot]

const configurationChange = (
  log: Log,
  [earlier, before]: Asked,
  [call, after]: Asked,
): Why['configuration'] => {
  const [old, now] = [configurationOf(before.effective), configurationOf(after.effective)]
  const changed = fields.filter((field) => canonicalText(old[field]) !== canonicalText(now[field]))
  if (changed.length > 0) {
    const { configured = -1 } = after.effective.layout
    const isSince = configured > before.effective.at
    const event = isSince
      ? configured
      : rewindsBetween(log, before.effective.at, after.effective.at).ofConfiguration()
    return { ...(event !== undefined && { event }), fields: changed }
  }
  const [one, other] = [earlier.origin.model, call.origin.model]
  return one !== undefined && other !== undefined && one !== other ? { fields: ['model'] } : undefined
}

const repairsOf = (
  call: AskedCall,
  now: HistorySnapshot,
  before: HistorySnapshot | undefined,
  earlier: AskedCall | undefined,
): Why['repairs'] => {
  const keyOf = ({ kind, position }: { readonly kind: string; readonly position: number }): string =>
    `${kind} ${position}`
  // If the previous call has no receipt, this call's receipt options are assumed.
  const known = new Set(before ? repairsIn(earlier?.receipt ?? call.receipt, before).map(keyOf) : [])
  return (call.kind === 'reply' ? repairsIn(call.receipt, now) : []).map((repair) => {
    const { kind, position, detail } = repair
    return { kind, position, detail, isNew: !known.has(keyOf(repair)) }
  })
}

const repairsIn = (receipt: Receipt | undefined, { effective: shown }: HistorySnapshot) => {
  const options = receipt && receiptOptionsIn(receipt)
  const made = options && E.isRight(options) ? requestOf(shown, options.right) : undefined
  return made && E.isRight(made) ? made.right.repairs : []
}
