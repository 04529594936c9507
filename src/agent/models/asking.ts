import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { Origin } from '../../events/events.ts'
import { abortedBy } from './aborted.ts'
import type { CallOptions, FailedCall, Model, ModelError, ModelRequest, Reply } from './model.ts'
import { tracedCall } from './traced.ts'

/** How to call a model, and how often to repeat a call that failed. */
export interface RetryOptions extends CallOptions {
  /** How often to repeat a call that failed for a passing reason. Default 3; 0 for never. */
  readonly maxRetries?: number
  /** Called before a call is repeated; if it returns false, the call is not repeated. */
  readonly onRetry?: (retry: Retry) => boolean
}

/** A call that failed and is to be repeated. */
export interface Retry {
  readonly error: ModelError
  /** Milliseconds. */
  readonly wait: number
  /** The number of the next try: 2 or more. */
  readonly try: number
  /** Every call that failed, this one included. */
  readonly failed: readonly FailedCall[]
}

const defaultRetries = 3

/**
 * Calls a model, and repeats the call where that may help: nothing of a reply that broke off is kept. The calls that failed are in the
 * reply's origin, or in the error, the last one included.
 */
export const callModel = async (
  model: Model,
  request: ModelRequest,
  { maxRetries = defaultRetries, onRetry = () => true, ...options }: RetryOptions,
): Promise<E.Either<ModelError, Reply>> => {
  const { signal } = options
  const failed: FailedCall[] = []
  for (let tries = 0; ; tries++) {
    const reply = await tracedCall(model, request, options)
    if (E.isRight(reply)) {
      const origin = withFailed(reply.right.origin, failed)
      return E.right({ ...reply.right, origin })
    }
    const error = reply.left
    failed.push(failedCall({ model: request.model, ...error }))
    if (tries === maxRetries || !isRetryable(error)) return E.left({ ...error, failed })
    const wait = waitBefore(error, tries)
    if (!onRetry({ error, wait, try: tries + 2, failed })) return E.left({ ...error, failed })
    try {
      await sleep(wait, undefined, signal && { signal })
    } catch {
      return E.left({ ...abortedBy(signal as AbortSignal), failed })
    }
  }
}

/** An origin that also tells of the calls that failed before. */
export const withFailed = (origin: Origin, failed: readonly FailedCall[]): Origin =>
  failed.length > 0 ? { ...origin, failed: [...failed, ...failedIn(origin)] } : origin

/** The failed calls that an origin or an error tells of. */
export const failedIn = (told: object): readonly FailedCall[] =>
  'failed' in told && Array.isArray(told.failed) ? (told.failed as readonly FailedCall[]) : []

const isRetryable = (error: ModelError): boolean => 'retryable' in error && error.retryable

const [firstWait, longestWait] = [500, 8_000]
/** Milliseconds; a longer timer fires at once. */
export const longestTimer = 2 ** 31 - 1

/**
 * Milliseconds to wait: what the API asked for, else half a second, doubled with each try, and up to a quarter shorter so that callers
 * that failed together do not come back together.
 */
export const waitBefore = (error: ModelError, tries: number, random = Math.random()): number => {
  const { retryAfter } = error._tag === 'ModelFailed' ? error : {}
  if (retryAfter !== undefined) return Math.min(retryAfter, longestTimer)
  return Math.min(firstWait * 2 ** tries, longestWait) * (1 - random / 4)
}

type Failure = Pick<FailedCall, 'message'> & {
  readonly [K in keyof Omit<FailedCall, 'error' | 'message'>]?: FailedCall[K] | undefined
} & { readonly _tag: FailedCall['error'] }

/** What is recorded of a failed call. */
export const failedCall = ({
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
