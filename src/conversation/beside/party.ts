import type { Steps } from '../../result/steps.ts'
import type { WriteError } from '../../store/errors.ts'

/** An observer's own clock. Times of different clocks are never compared. */
export interface Clock {
  /** Returns the time in milliseconds; it never decreases. */
  readonly now: () => number
  /** Calls a function after `ms` milliseconds. @returns a function that cancels it */
  readonly after: (ms: number, run: () => void) => () => void
}

/** The party that gives turns through a handle of a conversation. */
export interface TurnClaimant {
  /** Name of the party in the log; never reused. */
  readonly id: string
  /** True for a worker, which claims a conversation before giving it turns. A program claims it within the turn. */
  readonly isWorker: boolean
  readonly clock: Clock
  /** The turns of this party that hold a conversation, named as in their claims. */
  readonly holds: Set<string>
  /**
   * Signals at intervals that this party is alive.
   *
   * @param ttl milliseconds of silence after which others assume it is dead
   * @returns a function that stops the signals
   */
  readonly live: (ttl: number) => () => void
  /** Reports whether another party, named as in the log, is known to have ended, without inferring it from silence. */
  readonly isGone: (other: string) => Steps<WriteError, boolean>
  /** Milliseconds between calls of `isGone`; Infinity if only events tell. */
  readonly lookEvery: number
}
