import type { ConversationEvent } from '../index.ts'
import type { InterimEvent } from '../agent/turn/stream/turn-event.ts'

/** Maximum time for which a recorded reply is delayed until its remaining live events arrive, in milliseconds. */
const patience = 200

/** Merges live and recorded events into one order: the live events of a reply come before the recorded reply, or are dropped. */
export interface TokenOrder {
  /** Reports whether the live event should be passed to the client. */
  readonly passes: (told: InterimEvent) => boolean
  /** Returns the time for which a recorded event is to be delayed until its live events arrive, in milliseconds. */
  readonly wait: (event: ConversationEvent) => number
  readonly heldBy: (worker: string) => void
}

/**
 * Makes the merged order of live and recorded events.
 *
 * @param tells returns true if the worker sends live events
 */
export const tokenOrder = (tells: (worker: string) => boolean, now = () => performance.now()): TokenOrder => {
  let holder: string | undefined
  /** Position of the newest reply whose live events have all arrived. */
  let marked = -1
  /**
   * Position of the newest reply that was sent before its live events were complete; -1 once they are. Until then, live events are
   * dropped, as they arrive too late.
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
