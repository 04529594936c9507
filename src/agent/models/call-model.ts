import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { Origin } from '../../events/events.ts'
import { modelAborted } from './abort.ts'
import type { CallOptions, FailedCall, Model, ModelError, ModelRequest, Reply } from './model.ts'
import { traceCall } from './trace-call.ts'

/** Options for a model call with retries. */
export interface ModelRetryOptions extends CallOptions {
  /** Maximum number of retries after transient failures. Default 3; 0 disables retries. */
  readonly maxRetries?: number
  /** Called before each retry; if it returns false, the call is not retried. */
  readonly onRetry?: (retry: Retry) => boolean
}

/** Failed call that is about to be retried. */
export interface Retry {
  readonly error: ModelError
  /** Milliseconds until the next attempt. */
  readonly wait: number
  /** Number of the next attempt, 2 or more. */
  readonly try: number
  /** All failed calls so far, including this one. */
  readonly failed: readonly FailedCall[]
}

const defaultRetries = 3

/**
 * Calls a model and retries after failures that may be transient. The content of an interrupted reply is discarded. The reply's origin
 * lists the failed calls; if the last attempt also fails, the error lists all of them.
 */
export const callModel = async (
  model: Model,
  request: ModelRequest,
  { maxRetries = defaultRetries, onRetry = () => true, ...options }: ModelRetryOptions,
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

/** Adds earlier failed calls to an origin, before the failed calls that it already lists. */
export const withFailed = (origin: Origin, failed: readonly FailedCall[]): Origin =>
  failed.length > 0 ? { ...origin, failed: [...failed, ...failuresIn(origin)] } : origin

/** Returns the failed calls listed in an origin or an error. */
export const failuresIn = (told: object): readonly FailedCall[] =>
  'failed' in told && Array.isArray(told.failed) ? (told.failed as readonly FailedCall[]) : []

const isRetryable = (error: ModelError): boolean => 'retryable' in error && error.retryable

const [firstWait, longestWait] = [500, 8_000]
/** Maximum delay of a timer, in milliseconds. A timer with a longer delay fires at once. */
export const longestTimer = 2 ** 31 - 1

/**
 * Returns the milliseconds to wait before a retry: the time that the API requested, else half a second, doubled with each retry up to 8
 * seconds. The doubled wait is shortened at random by up to a quarter, so that callers that failed together do not retry together.
 */
export const waitBefore = (error: ModelError, tries: number, random = Math.random()): number => {
  const { retryAfter } = error._tag === 'ModelFailed' ? error : {}
  if (retryAfter !== undefined) return Math.min(retryAfter, longestTimer)
  return Math.min(firstWait * 2 ** tries, longestWait) * (1 - random / 4)
}

type Failure = Pick<FailedCall, 'message'> & {
  readonly [K in keyof Omit<FailedCall, 'error' | 'message'>]?: FailedCall[K] | undefined
} & { readonly _tag: FailedCall['error'] }

/** Creates the record of a failed call from an error, omitting absent fields. */
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
