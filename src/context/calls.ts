import type { ConversationEvent, Origin, Receipt } from '../events/events.ts'

/** A call of a model that has a receipt. */
export interface ModelCall {
  /** Counted from 1 in the order of the answers, those of abandoned branches and of inherited events included. */
  readonly number: number
  /** Position of the answer. */
  readonly position: number
  /** What was asked for. */
  readonly kind: 'reply' | 'summary'
  readonly origin: Origin
  readonly receipt: Receipt
}

/** The call that an event is the answer to, if its receipt says so. */
export const callOf = (event: ConversationEvent, number: number): ModelCall | undefined => {
  if (event.type !== 'MessageAppended' && event.type !== 'Condensed') return undefined
  const { origin } = event.data
  const kind = event.type === 'Condensed' ? 'summary' : 'reply'
  return origin?.context && { number, position: event.position, kind, origin, receipt: origin.context }
}

/** Every call of a model in these events, in their order. */
export async function* callsIn(events: AsyncIterable<ConversationEvent>): AsyncGenerator<ModelCall, void> {
  let number = 1
  for await (const event of events) {
    const call = callOf(event, number)
    if (!call) continue
    yield call
    number++
  }
}
