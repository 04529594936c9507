import * as E from 'fp-ts/lib/Either.js'
import { failuresIn } from '../models/call-model.ts'
import type { TurnResult, TurnError } from '../turn/turn-result.ts'

// A worker takes fewer steps at once while the API refuses calls because of a rate limit or overload: half as many after such a
// refusal, and one more after as many successful turns as it has slots (additive increase, multiplicative decrease).

/** Number of steps that a worker takes at once, as adapted to refusals by the API. */
export interface Capacity {
  readonly slots: number
  /** Number of turns that succeeded since `slots` last changed. */
  readonly succeeded: number
  /** Time at which `slots` was last lowered, in milliseconds. */
  readonly loweredAt: number
}

/** A turn run by a worker: how the API treated its calls, and the times at which the turn began and ended. */
export interface TurnAttempt {
  readonly how: 'refused' | 'succeeded' | 'other'
  readonly began: number
  readonly ended: number
}

export const fullCapacity = (most: number): Capacity => ({ slots: most, succeeded: 0, loweredAt: -Infinity })

/**
 * Returns the capacity after a turn.
 *
 * @param most the worker's slots when nothing is refused
 */
export const adaptCapacity = (
  capacity: Capacity,
  most: number,
  { how, began, ended }: TurnAttempt,
): Capacity => {
  const { slots, succeeded, loweredAt } = capacity
  if (how === 'refused') {
    // Calls that began before the last refusal were refused for the same reason.
    if (began < loweredAt) return capacity
    return { slots: Math.max(1, Math.floor(slots / 2)), succeeded: 0, loweredAt: ended }
  }
  if (how === 'other' || slots >= most) return capacity
  return succeeded + 1 < slots
    ? { ...capacity, succeeded: succeeded + 1 }
    : { ...capacity, slots: slots + 1, succeeded: 0 }
}

const statuses: ReadonlySet<unknown> = new Set([429, 529])
const types: ReadonlySet<unknown> = new Set(['rate_limit_error', 'overloaded_error'])

/** Reports whether the API refused a call because of a rate limit or overload. */
export const isRefused = (failure: { readonly status?: unknown; readonly type?: unknown }): boolean =>
  statuses.has(failure.status) || types.has(failure.type)

/** Classifies a turn by how the API treated its calls. A turn that had to retry calls does not count towards an additional slot. */
export const apiOutcomeOf = (turned: E.Either<TurnError, TurnResult>): TurnAttempt['how'] => {
  if (E.isRight(turned)) return turned.right.retried > 0 ? 'other' : 'succeeded'
  const failures: readonly object[] = [turned.left, ...failuresIn(turned.left)]
  return failures.some(isRefused) ? 'refused' : 'other'
}
