import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { Origin } from '../../events/events.ts'
import { modelAborted } from './abort.ts'
import type { CallOptions, FailedCall, Model, ModelError, ModelRequest, Reply } from './model.ts'
import { traceCall } from './trace-call.ts'

/** Options of a model call and of its retries. */
export interface RetryOptions extends CallOptions {
  /** Number of retries of a call that failed for a transient reason. Default 3; 0 for none. */
  readonly maxRetries?: number
  /** Called before each retry; if it returns false, the call is not retried. */
  readonly onRetry?: (retry: Retry) => boolean
}

/** A failed call that is to be retried. */
export interface Retry {
  readonly error: ModelError
  /** Milliseconds until the next try. */
  readonly wait: number
  /** Number of the next try: 2 or more. */
  readonly try: number
  /** All failed calls, including this one. */
  readonly failed: readonly FailedCall[]
}

const defaultRetries = 3

/**
 * Calls a model and retries where that may help; content of an interrupted reply is not kept. The failed calls are in the reply's
 * origin or, including the last one, in the error.
 */
export const callModel = async (
  model: Model,
  request: ModelRequest,
  { maxRetries = defaultRetries, onRetry = () => true, ...options }: RetryOptions,
): Promise<E.Either<ModelError, Reply>> => {
  const { signal } = options
  const failed: FailedCall[] = []
  for (let tries = 0; ; tries++) {
    const reply = await traceCall(model, request, options)
    if (E.isRight(reply)) {
      const origin = withFailed(reply.right.origin, failed)
      return E.right({ ...reply.right, origin })
    }
    const error = reply.left
    failed.push(failedCallOf({ model: request.model, ...error }))
    if (tries === maxRetries || !isRetryable(error)) return E.left({ ...error, failed })
    const wait = waitBefore(error, tries)
    if (!onRetry({ error, wait, try: tries + 2, failed })) return E.left({ ...error, failed })
    try {
      await sleep(wait, undefined, signal && { signal })
    } catch {
      return E.left({ ...modelAborted(signal as AbortSignal), failed })
    }
  }
}

/** Adds the earlier failed calls to an origin. */
export const withFailed = (origin: Origin, failed: readonly FailedCall[]): Origin =>
  failed.length > 0 ? { ...origin, failed: [...failed, ...failuresIn(origin)] } : origin

/** Returns the failed calls in an origin or an error. */
export const failuresIn = (told: object): readonly FailedCall[] =>
  'failed' in told && Array.isArray(told.failed) ? (told.failed as readonly FailedCall[]) : []

const isRetryable = (error: ModelError): boolean => 'retryable' in error && error.retryable

const [firstWait, longestWait] = [500, 8_000]
/** Longest delay of a timer, in milliseconds; a longer timer fires at once. */
export const longestTimer = 2 ** 31 - 1

/**
 * Milliseconds to wait: the time that the API asked for, else half a second, doubled with each try and shortened at random by up to a
 * quarter, so that callers that failed together do not return together.
 */
export const waitBefore = (error: ModelError, tries: number, random = Math.random()): number => {
  const { retryAfter } = error._tag === 'ModelFailed' ? error : {}
  if (retryAfter !== undefined) return Math.min(retryAfter, longestTimer)
  return Math.min(firstWait * 2 ** tries, longestWait) * (1 - random / 4)
}

type Failure = Pick<FailedCall, 'message'> & {
  readonly [K in keyof Omit<FailedCall, 'error' | 'message'>]?: FailedCall[K] | undefined
} & { readonly _tag: FailedCall['error'] }

/** Creates the record of a failed call. */
export const failedCallOf = ({
  _tag,
  message,
  status,
  type,
  requestId,
  usage,
  model,
}: Failure): FailedCall => ({
  error: _tag,
  message,
  ...(status !== undefined && { status }),
  ...(type !== undefined && { type }),
  ...(requestId !== undefined && { requestId }),
  ...(usage && { usage }),
  ...(model !== undefined && { model }),
})
