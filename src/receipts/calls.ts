import type { ConversationEvent, Origin, Receipt } from '../events/events.ts'
import { receiptsOfSummary } from './summary-request.ts'

/** A call of a model that has a receipt. */
export interface ModelCall {
  /** Counted from 1 in the order of the answers, those of abandoned branches and of inherited events included. */
  readonly number: number
  /** Position of the answer. */
  readonly position: number
  /** What was requested. */
  readonly kind: 'reply' | 'summary'
  readonly origin: Origin
  readonly receipt: Receipt
}

/** A reply of a model, by its origin, that has no receipt: it has no number. */
export interface UnprovenCall {
  /** Position of the reply. */
  readonly position: number
  readonly kind: 'reply'
  readonly origin: Origin
  /** Calls before it have one. */
  readonly isMissing: boolean
}

/** The calls that an event is the answer to, by its receipt: one, or all that a summary took. */
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

/**
 * Numbers the calls that the events of a log are the answers to, event by event. A turn may record a summary again, before what was said
 * since: that is no other call.
 */
export const numberedCalls = (): ((event: ConversationEvent) => readonly ModelCall[]) => {
  let first = 1
  const summaries = new Set<string>()
  return (event) => {
    const calls = callsOf(event, first)
    const [call] = calls
    if (call?.kind === 'summary') {
      const { origin, receipt } = call
      const answer = JSON.stringify([receipt.position, receipt.digest, origin.requestId])
      if (summaries.has(answer)) return []
      summaries.add(answer)
    }
    first += calls.length
    return calls
  }
}

/** Every call of a model in these events, in order. */
export async function* callsIn(events: AsyncIterable<ConversationEvent>): AsyncGenerator<ModelCall, void> {
  const calls = numberedCalls()
  for await (const event of events) yield* calls(event)
}

/** Every call of a model in these events, in order, and the replies of models without a receipt. */
export async function* everyCallIn(
  events: AsyncIterable<ConversationEvent>,
): AsyncGenerator<ModelCall | UnprovenCall, void> {
  const calls = numberedCalls()
  let isMissing = false
  for await (const event of events) {
    for (const call of calls(event)) {
      isMissing = true
      yield call
    }
    if (isUnproven(event))
      yield { position: event.position, kind: 'reply', origin: event.data.origin, isMissing }
  }
}

/** Whether an event is a reply of a model, by its origin, without a receipt. */
export const isUnproven = (event: ConversationEvent): event is Unproven => {
  if (event.type !== 'MessageAppended' || event.data.role !== 'assistant') return false
  const { model, requestId, usage, context } = event.data.origin ?? {}
  return !context && (model !== undefined || requestId !== undefined || usage !== undefined)
}
type Unproven = ConversationEvent<'MessageAppended'> & { readonly data: { readonly origin: Origin } }
