import * as E from 'fp-ts/lib/Either.js'
import { failuresIn } from '../../models/call-model.ts'
import { aboutKey } from '../../models/streaming/failures.ts'
import type { TurnResult } from '../../turn/turn-result.ts'
import type { TurnEventData } from '../../../events/turn-events.ts'
import { backoff, wholeWait } from '../board/open-step.ts'
import type { GivenError } from './give.ts'

// A worker takes fewer steps at once while the API refuses calls because of a rate limit or overload: half as many after such a
// refusal, and one more after as many successful turns as it has slots (additive increase, multiplicative decrease).

/** Number of steps that a worker takes at once, as adapted to refusals by the API. */
export interface WorkerCapacity {
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

export const fullCapacity = (most: number): WorkerCapacity => ({
  slots: most,
  succeeded: 0,
  loweredAt: -Infinity,
})

/**
 * Returns the capacity after a turn.
 *
 * @param most the worker's slots when nothing is refused
 */
export const adaptCapacity = (
  capacity: WorkerCapacity,
  most: number,
  { how, began, ended }: TurnAttempt,
): WorkerCapacity => {
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

/** Lowest HTTP status with which a gateway says that the API is down (502, 503, 504 and others, up to 530). */
const lowestOutage = 502

/**
 * Reports whether a call did not reach the API: the connection failed before any part of a reply, or a gateway answered for the API.
 * Only a `retryable` error is one of the connection: without a status, it may also come from a client that is not configured.
 */
export const isUnreachable = ({ _tag, status, type, retryable, partial, usage }: Failure): boolean => {
  if (_tag !== 'ModelFailed') return false
  if (typeof status === 'number') return status >= lowestOutage
  return retryable === true && [status, type, partial, usage].every((told) => told === undefined)
}

/** Classifies a turn by how the API treated its calls. A turn that had to retry calls does not count towards an additional slot. */
export const apiOutcomeOf = (turned: E.Either<GivenError, TurnResult>): TurnAttempt['how'] => {
  if (E.isRight(turned)) return turned.right.retried > 0 ? 'other' : 'succeeded'
  // Fewer calls are enough to find out when the API can be reached again.
  if (isUnreachable(turned.left)) return 'refused'
  const failures: readonly object[] = [turned.left, ...failuresIn(turned.left)]
  return failures.some(isRefused) ? 'refused' : 'other'
}

interface Failure extends Pick<GivenError, '_tag' | 'message'> {
  readonly retryAfter?: number
  readonly status?: unknown
  readonly type?: unknown
  readonly retryable?: boolean
  readonly partial?: unknown
  readonly usage?: unknown
  readonly isOfOptions?: boolean
}
type Reason = TurnEventData['TurnReleased']['reason']

/**
 * Outcome of an attempt. It is recorded by the reply in the log (`settled`), by parking the step (`parked`), or by releasing the
 * conversation.
 */
export type AttemptOutcome =
  | { readonly reason: 'settled' }
  | { readonly reason: 'parked'; readonly error: string }
  | { readonly reason: Reason; readonly error?: string; readonly waitMs?: number }

/** Milliseconds to wait if the API is overloaded and states no time. */
const overloadWait = 5_000
/** Returns the milliseconds to wait after an internal error of the API (500), which may last, but may also be due to the request. */
const internalWait = (attempt: number): number => 5_000 * 4 ** (attempt - 1)
/** Longest wait, in milliseconds, while the API cannot be reached. */
const outageWait = 60_000
/** Minimum wait in milliseconds: otherwise, a worker would call the API without a pause after `retry-after: 0`. */
const leastWait = 1_000
/** Maximum length of a recorded error, in characters: some APIs respond with whole pages, and the size of a stored event is limited. */
const longestError = 10_000

/** Milliseconds to wait if the API refuses the key or the account, or the turn refuses the program's options. */
const accountWait = 60_000
const accountStatuses: ReadonlySet<unknown> = new Set([401, 402, 403])
/** Phrases with which the Messages API, with status 400, reports an account that is out of credit or has reached its limit. */
const aboutAccount = /credit balance|usage limit|billing/i

/**
 * Reports whether the account or the program, and not the step, caused the failure. Such a failure does not count against the step,
 * because it would otherwise park all steps.
 */
const isOfAll = ({ _tag, status, message, isOfOptions = false }: Failure): boolean =>
  isOfOptions ||
  (_tag === 'ModelFailed' &&
    (accountStatuses.has(status) ||
      (status === 400 && aboutAccount.test(message)) ||
      (status === undefined && aboutKey.test(message))))

const hopeless: ReadonlySet<unknown> = new Set([400, 404, 413, 422])

/** Reports whether the same request would be refused again and cannot be made smaller. */
const isHopeless = ({ _tag, status }: Failure): boolean =>
  _tag === 'ContextTooLarge' || _tag === 'ContextExceeded' || (_tag === 'ModelFailed' && hopeless.has(status))

interface AttemptFacts {
  readonly attempt: number
  readonly isStopping: boolean
  /** Milliseconds for which the worker has not reached the API. Default 0. */
  readonly outage?: number
}

/** Returns the outcome of a turn for its step. */
export const outcomeOf = (
  turned: E.Either<Failure, TurnResult>,
  { attempt, isStopping, outage = 0 }: AttemptFacts,
): AttemptOutcome => {
  if (E.isRight(turned)) {
    const { ended, waiting } = turned.right
    if (ended === 'stop') return { reason: 'settled' }
    return ended === 'waiting' ? { reason: 'waiting', ...expiryOf(waiting) } : { reason: 'done' }
  }
  const { _tag, message, retryAfter } = turned.left
  if (_tag === 'NothingToAnswer' || _tag === 'TurnCancelled' || _tag === 'ConversationNotFound')
    return { reason: 'done' }
  if (_tag === 'ModelAborted' && isStopping) return { reason: 'shutdown' }
  const error = `${_tag}: ${message}`.slice(0, longestError)
  // A custom model may return any value.
  const wait = retryAfter !== undefined && retryAfter >= 0 ? retryAfter : undefined
  // Rate limits and overload are not the fault of the step: it is retried without limit.
  if (isRefused(turned.left))
    return { reason: 'free', error, waitMs: wholeWait(Math.max(wait ?? overloadWait, leastWait)) }
  // Neither is an outage. The wait doubles with it, up to a minute, so that a long one adds few events to the log.
  if (isUnreachable(turned.left)) {
    const growing = Math.min(Math.max(outage, leastWait), outageWait)
    return { reason: 'free', error, waitMs: wholeWait(Math.max(wait ?? 0, growing)) }
  }
  if (isOfAll(turned.left)) return { reason: 'free', error, waitMs: accountWait }
  if (isHopeless(turned.left)) return { reason: 'parked', error }
  const lasting = turned.left.status === 500 ? internalWait(attempt) : undefined
  return { reason: 'failed', error, waitMs: backoff(attempt, wait ?? lasting) }
}

/**
 * Returns the time until the earliest deadline of these calls, in milliseconds by the worker's clock; an empty object if no call has a
 * deadline.
 */
const expiryOf = (waiting: TurnResult['waiting']): { readonly waitMs?: number } => {
  const times = waiting.flatMap(({ until }) => (until === undefined ? [] : [Date.parse(until) - Date.now()]))
  return times.length > 0 ? { waitMs: Math.max(0, Math.min(...times)) } : {}
}

/** Reports whether the conversation has to be examined again for messages, rewinds or decisions that the turn may have missed. */
export const looksAgain = (turned: E.Either<{ readonly _tag: string }, TurnResult>): boolean =>
  E.isRight(turned) ? turned.right.ended === 'waiting' : turned.left._tag === 'NothingToAnswer'
