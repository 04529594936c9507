import type { Steps } from '../../result/steps.ts'
import type { WriteError } from '../../store/errors.ts'

/** How an observer tells the time. Its own clock only: no two are compared. */
export interface Clock {
  /** Milliseconds, never less than before. */
  readonly now: () => number
  /** Calls a function after so many milliseconds. @returns ends it */
  readonly after: (ms: number, run: () => void) => () => void
}

/** Who gives turns through a handle of a conversation. */
export interface TurnClaimant {
  /** As the log names it: never used again. */
  readonly id: string
  /** A worker: what it gives turns to, it has claimed. A program claims within the turn. */
  readonly isWorker: boolean
  readonly clock: Clock
  /** The turns of this party that hold a conversation, as their claims name them. */
  readonly holds: Set<string>
  /**
   * Says that it lives, again and again.
   *
   * @param ttl the milliseconds of silence after which others take it for dead
   * @returns ends that
   */
  readonly live: (ttl: number) => () => void
  /** Whether it is known, and need not be concluded from its silence, that whoever the log names so has ended. */
  readonly isGone: (other: string) => Steps<WriteError, boolean>
  /** How often to ask that, in milliseconds; Infinity where only events say it. */
  readonly lookEvery: number
}
