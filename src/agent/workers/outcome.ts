import * as E from 'fp-ts/lib/Either.js'
import type { TurnEventData } from '../../events/turn-events.ts'
import type { TurnResult, TurnError } from '../turn/turned.ts'
import { backoff, wholeWait } from './attempts.ts'
import { isRefused } from './capacity.ts'

interface Failure extends Pick<TurnError, '_tag' | 'message'> {
  readonly retryAfter?: number
  readonly status?: unknown
  readonly type?: unknown
  readonly isOfOptions?: boolean
}
type Reason = TurnEventData['TurnReleased']['reason']

/** How an attempt ended: the reply that is in the log says so (`settled`), or a release does, or that the step is parked. */
export type AttemptOutcome =
  | { readonly reason: 'settled' }
  | { readonly reason: 'parked'; readonly error: string }
  | { readonly reason: Reason; readonly error?: string; readonly waitMs?: number }

/** How long to wait, in milliseconds, if the API is overloaded and does not say. */
const overloadWait = 5_000
/** At least so long, whatever it says: with `retry-after: 0`, a worker would call it without a pause. */
const leastWait = 1_000
/** How much of an error is recorded, in characters: some APIs answer with whole pages, and a store takes only so much. */
const longestError = 10_000

/** How long to wait, in milliseconds, if the API refuses the key or the account, or the turn the options of the program. */
const accountWait = 60_000
const accountStatuses: ReadonlySet<unknown> = new Set([401, 402, 403])
/** The Messages API says with status 400 that an account is out of credit or has reached its limit. */
const aboutAccount = /credit balance|usage limit|billing/i

/** What is wrong with the account or the program, and not with the step: all steps would be parked for it. */
const isOfAll = ({ _tag, status, message, isOfOptions = false }: Failure): boolean =>
  isOfOptions ||
  (_tag === 'ModelFailed' && (accountStatuses.has(status) || (status === 400 && aboutAccount.test(message))))

const hopeless: ReadonlySet<unknown> = new Set([400, 404, 413, 422])

/** The same request will be refused again, and no smaller one can be made. */
const isHopeless = ({ _tag, status }: Failure): boolean =>
  _tag === 'ContextTooLarge' || _tag === 'ContextExceeded' || (_tag === 'ModelFailed' && hopeless.has(status))

/** What the turn of a step came to. */
export const outcomeOf = (
  turned: E.Either<Failure, TurnResult>,
  { attempt, isStopping }: { readonly attempt: number; readonly isStopping: boolean },
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
  // A model of the program's own may say anything.
  const wait = retryAfter !== undefined && retryAfter >= 0 ? retryAfter : undefined
  // Too many calls are no fault of the step: it is tried again as often as it takes.
  if (isRefused(turned.left))
    return { reason: 'free', error, waitMs: wholeWait(Math.max(wait ?? overloadWait, leastWait)) }
  if (isOfAll(turned.left)) return { reason: 'free', error, waitMs: accountWait }
  if (isHopeless(turned.left)) return { reason: 'parked', error }
  return { reason: 'failed', error, waitMs: backoff(attempt, wait) }
}

/** After how many milliseconds the first of these approvals is too late, by the worker's clock. */
const expiryOf = (waiting: TurnResult['waiting']): { readonly waitMs?: number } => {
  const times = waiting.flatMap(({ until }) => (until === undefined ? [] : [Date.parse(until) - Date.now()]))
  return times.length > 0 ? { waitMs: Math.max(0, Math.min(...times)) } : {}
}

/** Whether the turn has to look again, if something was said, rewound or decided that it may not have seen. */
export const looksAgain = (turned: E.Either<{ readonly _tag: string }, TurnResult>): boolean =>
  E.isRight(turned) ? turned.right.ended === 'waiting' : turned.left._tag === 'NothingToAnswer'
