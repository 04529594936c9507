import type { ConversationEvent, Origin, Receipt } from '../../events/events.ts'
import { receiptsOfSummary } from './summary-request.ts'

/** A model call with a receipt. */
export interface ModelCall {
  /** Number of the call, from 1, in the order of the answers, including those of abandoned branches and of inherited events. */
  readonly number: number
  /** Position of the answer. */
  readonly position: number
  /** Kind of the request. */
  readonly kind: 'reply' | 'summary'
  readonly origin: Origin
  readonly receipt: Receipt
}

/** A model reply, according to its origin, without a receipt, and therefore without a number. */
export interface UnprovenCall {
  /** Position of the reply. */
  readonly position: number
  readonly kind: 'reply'
  readonly origin: Origin
  /** True if earlier calls have a receipt. */
  readonly isMissing: boolean
}

/** Returns the calls that an event answers, according to its receipt: one, or all calls made for a summary. */
const callsOf = (event: ConversationEvent, first: number): readonly ModelCall[] => {
  if (event.type !== 'MessageAppended' && event.type !== 'Condensed') return []
  const { origin } = event.data
  const { position } = event
  if (!origin?.context) return []
  if (event.type === 'MessageAppended')
    return [{ number: first, position, kind: 'reply', origin, receipt: origin.context }]
  const receipts = receiptsOfSummary(origin.context)
  return receipts.map((receipt, index) => {
    // The usage of all of them is kept with the last one.
    const { usage: _, ...own } = origin
    const isLast = index === receipts.length - 1
    return { number: first + index, position, kind: 'summary', origin: isLast ? origin : own, receipt }
  })
}

/** A summary with a receipt. */
export interface AnsweredSummary {
  /** Identifies the answer: the same if the summary is recorded again. */
  readonly answer: string
  /** Number of calls made for it. */
  readonly calls: number
}

const summaryOf = (calls: readonly ModelCall[]): AnsweredSummary | undefined => {
  const [call] = calls
  if (call?.kind !== 'summary') return undefined
  const { origin, receipt } = call
  return {
    answer: JSON.stringify([receipt.position, receipt.digest, origin.requestId]),
    calls: calls.length,
  }
}

/** Returns the summary of an event, if it has a receipt. */
export const answeredSummaryOf = (event: ConversationEvent): AnsweredSummary | undefined =>
  event.type === 'Condensed' ? summaryOf(callsOf(event, 1)) : undefined

/** Calls already counted. */
export interface PassedCalls {
  readonly calls: number
  /** Answers that were recorded as summaries. */
  readonly summaries: ReadonlySet<string>
}
const noneYet: PassedCalls = { calls: 0, summaries: new Set() }

/**
 * Numbers the calls that the events of a log answer, event by event. A turn may record a summary again, before later messages: this is
 * not counted as another call.
 *
 * @param passed calls before these events
 */
export const createCallCounter = (passed = noneYet): ((event: ConversationEvent) => readonly ModelCall[]) => {
  let first = passed.calls + 1
  const summaries = new Set(passed.summaries)
  return (event) => {
    const calls = callsOf(event, first)
    const summary = summaryOf(calls)
    if (summary && summaries.has(summary.answer)) return []
    if (summary) summaries.add(summary.answer)
    first += calls.length
    return calls
  }
}

/** Yields every model call in these events, in order. */
export async function* callsIn(events: AsyncIterable<ConversationEvent>): AsyncGenerator<ModelCall, void> {
  const calls = createCallCounter()
  for await (const event of events) yield* calls(event)
}

/** Like `createCallCounter`, and includes the model replies without a receipt. */
export const everyCall = (
  passed = noneYet,
): ((event: ConversationEvent) => readonly (ModelCall | UnprovenCall)[]) => {
  const calls = createCallCounter(passed)
  let isMissing = passed.calls > 0
  return (event) => {
    if (isUnproven(event))
      return [{ position: event.position, kind: 'reply', origin: event.data.origin, isMissing }]
    const own = calls(event)
    isMissing ||= own.length > 0
    return own
  }
}

/**
 * Yields every model call in these events, in order, and the model replies without a receipt.
 *
 * @param passed the calls before them
 */
export async function* everyCallIn(
  events: AsyncIterable<ConversationEvent>,
  passed = noneYet,
): AsyncGenerator<ModelCall | UnprovenCall, void> {
  const calls = everyCall(passed)
  for await (const event of events) yield* calls(event)
}

/** True if an event is a model reply, according to its origin, without a receipt. */
export const isUnproven = (event: ConversationEvent): event is UnprovenReply => {
  if (event.type !== 'MessageAppended' || event.data.role !== 'assistant') return false
  const { model, requestId, usage, context } = event.data.origin ?? {}
  return !context && (model !== undefined || requestId !== undefined || usage !== undefined)
}
export type UnprovenReply = ConversationEvent<'MessageAppended'> & {
  readonly data: { readonly origin: Origin }
}
