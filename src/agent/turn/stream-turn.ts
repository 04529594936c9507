import type * as E from 'fp-ts/lib/Either.js'
import { orThrow } from '../../result/fallible.ts'
import { eventQueue } from './stream/event-queue.ts'
import type { Emit, InterimEvent } from './stream/turn-event.ts'
import type { TurnResult, TurnError } from './turn-result.ts'

/** The turn has ended: the last event of its stream. */
export interface DoneEvent {
  readonly type: 'done'
  /** The turn's result, as returned by `turn`. */
  readonly turned: TurnResult
}
/** Event of a turn, tagged on `type`. */
export type TurnEvent = InterimEvent | DoneEvent

/** Listener for a turn's events, with a signal that aborts the turn. */
export interface TurnListener {
  readonly emit: Emit
  readonly signal: AbortSignal
}

/**
 * Returns a turn as an iterator over its events. The turn begins when the first event is requested. Leaving the loop aborts the turn
 * and waits until it has released the conversation. If the turn fails, the iterator throws the turn's error.
 */
export const streamTurn = (
  start: (listener: TurnListener) => Promise<E.Either<TurnError, TurnResult>>,
): AsyncIterableIterator<TurnEvent> => {
  const controller = new AbortController()
  const events = eventsOf(start, controller)
  return {
    next: async () => {
      try {
        return await events.next()
      } catch (error) {
        // A reader that left while waiting for the next event expects no error.
        if (controller.signal.aborted) return { done: true, value: undefined }
        throw error
      }
    },
    return: () => {
      // Aborts at once: the generator itself would not notice the return before the next event.
      controller.abort(new Error('the stream was closed by its reader'))
      return events.return()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function* eventsOf(
  start: (listener: TurnListener) => Promise<E.Either<TurnError, TurnResult>>,
  controller: AbortController,
): AsyncGenerator<TurnEvent, void> {
  if (controller.signal.aborted) return
  const queue = eventQueue()
  const ended = start({ emit: queue.push, signal: controller.signal }).finally(queue.end)
  // Prevents an unhandled rejection: the promise may reject long before a slow reader awaits it.
  ended.catch(() => {})
  try {
    for (let event = await queue.next(); event; event = await queue.next()) yield event
    yield { type: 'done', turned: await orThrow(ended) }
  } finally {
    await Promise.allSettled([ended])
  }
}
