import type { Fallible } from '../../result/fallible.ts'
import type { WriteError } from '../../store/errors.ts'

/** A process's local clock. Times of different clocks are never compared. */
export interface Clock {
  /** Returns a time in milliseconds that never decreases. */
  readonly now: () => number
  /** Calls `run` after `ms` milliseconds. Returns a function that cancels the call. */
  readonly after: (ms: number, run: () => void) => () => void
}

/** The program or worker that runs a conversation's turns through a handle. */
export interface TurnClaimant {
  /** Name of the program or worker in the log; never reused. */
  readonly id: string
  /** True for a worker, which claims a conversation before it starts a turn. Any other program makes the claim within the turn. */
  readonly isWorker: boolean
  readonly clock: Clock
  /** Names of this claimant's turns that may hold a claim on a conversation, as written in the claims. */
  readonly holds: Set<string>
  /**
   * Signals at intervals that this program or worker is alive.
   *
   * @param ttl milliseconds of silence after which others assume that it is dead
   * @returns a function that stops the signals
   */
  readonly live: (ttl: number) => () => void
  /** Reports whether another program or worker, given by its name in the log, is known to have ended. Silence is not taken as proof. */
  readonly isGone: (other: string) => Fallible<WriteError, boolean>
  /** Milliseconds between calls of `isGone`; Infinity if only a recorded event can show that a claimant has ended. */
  readonly lookEvery: number
}
