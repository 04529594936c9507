import type { ConversationEvent, Origin, Receipt } from '../../events/events.ts'
import { receiptsOfSummary } from './summary-request.ts'

/** A model call with a receipt. */
export interface ModelCall {
  /** Number of the call, from 1, in the order of the answers. Answers on abandoned branches and in inherited events count as well. */
  readonly number: number
  /** Position of the event that contains the answer. */
  readonly position: number
  /** Purpose of the call: a reply in the conversation, or a summary. */
  readonly kind: 'reply' | 'summary'
  readonly origin: Origin
  readonly receipt: Receipt
}

/** Model reply without a receipt, and therefore without a call number. Its origin shows that a model made it. */
export interface UnprovenCall {
  /** Position of the reply. */
  readonly position: number
  readonly kind: 'reply'
  readonly origin: Origin
  /** True if an earlier call has a receipt and the reply was not imported; its receipt then counts as missing. */
  readonly isMissing: boolean
}

/** Returns the calls that an event answers, according to its receipt: one call for a reply, or all calls made for a summary. */
const callsOf = (event: ConversationEvent, first: number): readonly ModelCall[] => {
  if (event.type !== 'MessageAppended' && event.type !== 'Condensed') return []
  const { origin } = event.data
  const { position } = event
  if (!origin?.context) return []
  if (event.type === 'MessageAppended')
    return [{ number: first, position, kind: 'reply', origin, receipt: origin.context }]
  const receipts = receiptsOfSummary(origin.context)
  return receipts.map((receipt, index) => {
    // The usage of all calls is recorded with the last one.
    const { usage: _, ...own } = origin
    const isLast = index === receipts.length - 1
    return { number: first + index, position, kind: 'summary', origin: isLast ? origin : own, receipt }
  })
}

/** Recorded summary with a receipt. */
export interface AnsweredSummary {
  /** Key that identifies the answer: the same if the summary is recorded again. */
  readonly answer: string
  /** Number of calls made for the summary. */
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

/** Returns the summary in an event; undefined if the event has no summary with a receipt. */
export const answeredSummaryOf = (event: ConversationEvent): AnsweredSummary | undefined =>
  event.type === 'Condensed' ? summaryOf(callsOf(event, 1)) : undefined

/** Calls in earlier events, which have already been counted. */
export interface PassedCalls {
  readonly calls: number
  /** Keys of the answers that were recorded as summaries. */
  readonly summaries: ReadonlySet<string>
}
const noneYet: PassedCalls = { calls: 0, summaries: new Set() }

/**
 * Returns a function that numbers the calls answered by each event of a log. A turn may record a summary again, before later messages;
 * the repeated summary is not counted as another call.
 *
 * @param passed calls in earlier events
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

/** Yields every model call with a receipt in these events, in order. */
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
      return [
        {
          position: event.position,
          kind: 'reply',
          origin: event.data.origin,
          isMissing: isMissing && needsReceipt(event),
        },
      ]
    const own = calls(event)
    isMissing ||= own.length > 0
    return own
  }
}

/**
 * Yields every model call in these events, in order, including the model replies without a receipt.
 *
 * @param passed calls in earlier events
 */
export async function* everyCallIn(
  events: AsyncIterable<ConversationEvent>,
  passed = noneYet,
): AsyncGenerator<ModelCall | UnprovenCall, void> {
  const calls = everyCall(passed)
  for await (const event of events) yield* calls(event)
}

/** Reports whether an event is a reply that has no receipt, although its origin shows that a model made it. */
export const isUnproven = (event: ConversationEvent): event is UnprovenReply => {
  if (event.type !== 'MessageAppended' || event.data.role !== 'assistant') return false
  const { model, requestId, usage, context } = event.data.origin ?? {}
  return !context && (model !== undefined || requestId !== undefined || usage !== undefined)
}

/** Reports whether a reply without a receipt should have one. Other programs do not record every request that they send. */
export const needsReceipt = ({ metadata }: UnprovenReply): boolean =>
  !metadata.erased && metadata.actor.kind !== 'import'

export type UnprovenReply = ConversationEvent<'MessageAppended'> & {
  readonly data: { readonly origin: Origin }
}
