import type { ApiFailure } from './replies.ts'

interface Failures {
  /** Status 529: the API is overloaded. The SDK retries. */
  readonly overloaded: ApiFailure
  /** Status 429: the rate limit is exceeded. The SDK retries, after `retryAfter` seconds if given. */
  readonly rateLimited: ApiFailure
  /** Status 500: an internal error. The SDK retries. */
  readonly broken: ApiFailure
  /** Status 401: the API key is invalid. */
  readonly unauthorized: ApiFailure
  /** Status 403: the API key lacks a permission. */
  readonly forbidden: ApiFailure
  /** Status 404: the resource does not exist. */
  readonly notFound: ApiFailure
  /** Status 413: the request exceeds the maximum size. */
  readonly tooLarge: ApiFailure
}

/**
 * Errors of the API that are independent of the request. To simulate one, return it from `reply`, optionally as `{ ...failure,
 * retryAfter }`.
 */
export const failures: Failures = {
  overloaded: { status: 529, type: 'overloaded_error', message: 'Overloaded' },
  rateLimited: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Number of requests has exceeded your rate limit',
  },
  broken: { status: 500, type: 'api_error', message: 'Internal server error' },
  unauthorized: { status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
  forbidden: {
    status: 403,
    type: 'permission_error',
    message: 'Your API key does not have permission to use the specified resource',
  },
  notFound: { status: 404, type: 'not_found_error', message: 'Not found' },
  tooLarge: { status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' },
}
