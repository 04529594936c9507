import type { ConversationEvent } from '../index.ts'
import type { InterimEvent } from '../agent/turn/stream/turn-event.ts'

/** How long a recorded reply waits for what its worker still tells of it, in milliseconds. */
const patience = 200

/** Brings what a worker tells and what is recorded into one order: of each reply, what is told of it comes before it or not at all. */
export interface TokenOrder {
  /** Whether to pass on what a worker tells. */
  readonly passes: (told: InterimEvent) => boolean
  /** How many milliseconds a recorded event has to wait for what is still told of it. */
  readonly wait: (event: ConversationEvent) => number
  /** Who gives the turn from now on. */
  readonly heldBy: (worker: string) => void
}

/** @param tells whether a worker tells of its turns */
export const tokenOrder = (tells: (worker: string) => boolean, now = () => performance.now()): TokenOrder => {
  let holder: string | undefined
  /** The newest reply of which all was told. */
  let marked = -1
  /** What is told is of a reply before this one, which was not waited for any longer. */
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
