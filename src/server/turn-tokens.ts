import type { ConversationEvent } from '../index.ts'
import type { InterimEvent } from '../agent/turn/stream/turn-event.ts'

/** Time that a recorded reply waits for its worker's remaining live events, in milliseconds. */
const patience = 200

/** Merges live events and recorded events into one order: the live events of a reply come before it or are dropped. */
export interface TokenOrder {
  /** True if a live event should be passed on. */
  readonly passes: (told: InterimEvent) => boolean
  /** Returns the time that a recorded event still has to wait for its live events, in milliseconds. */
  readonly wait: (event: ConversationEvent) => number
  /** Sets the worker that holds the turn from now on. */
  readonly heldBy: (worker: string) => void
}

/**
 * Makes an order of live and recorded events.
 *
 * @param tells true if a worker sends live events
 */
export const tokenOrder = (tells: (worker: string) => boolean, now = () => performance.now()): TokenOrder => {
  let holder: string | undefined
  /** Position of the newest reply whose live events are complete. */
  let marked = -1
  /**
   * Position of the newest reply that stopped waiting for its live events; -1 once they are complete. Until then, live events are
   * dropped, as they come too late.
   */
  let late = -1
  let held: { readonly position: number; readonly until: number } | undefined
  return {
    passes: (told) => {
      if (told.type !== 'reply') return late < 0
      marked = told.position
      if (marked >= late) late = -1
      return false
    },
    wait: (event) => {
      const { position } = event
      const isReply = event.type === 'MessageAppended' && event.data.role === 'assistant'
      if (!isReply || marked >= position || holder === undefined || !tells(holder)) return 0
      held = held?.position === position ? held : { position, until: now() + patience }
      const left = held.until - now()
      if (left <= 0) late = position
      return Math.max(0, left)
    },
    heldBy: (worker) => {
      holder = worker
      late = -1
    },
  }
}
