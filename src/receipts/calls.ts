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

/** The calls that an event is the answer to, by its receipt: one, or all that a summary took. */
export const callsOf = (event: ConversationEvent, first: number): readonly ModelCall[] => {
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

/** Every call of a model in these events, in order. */
export async function* callsIn(events: AsyncIterable<ConversationEvent>): AsyncGenerator<ModelCall, void> {
  let number = 1
  for await (const event of events) {
    const calls = callsOf(event, number)
    yield* calls
    number += calls.length
  }
}
