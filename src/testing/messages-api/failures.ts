import type { Failure } from './replies.ts'

/** The API's errors that do not depend on the request: return one from `reply`, or `{ ...failure, retryAfter }`. */
export const failures = {
  /** 529: the SDK retries. */
  overloaded: { status: 529, type: 'overloaded_error', message: 'Overloaded' },
  /** 429: the SDK retries, after `retryAfter` seconds if given. */
  rateLimited: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Number of requests has exceeded your rate limit',
  },
  /** 500: the SDK retries. */
  broken: { status: 500, type: 'api_error', message: 'Internal server error' },
  /** 401. */
  unauthorized: { status: 401, type: 'authentication_error', message: 'invalid x-api-key' },
  /** 403. */
  forbidden: {
    status: 403,
    type: 'permission_error',
    message: 'Your API key does not have permission to use the specified resource',
  },
  /** 404. */
  notFound: { status: 404, type: 'not_found_error', message: 'Not found' },
  /** 413: more bytes than a request may have. */
  tooLarge: { status: 413, type: 'request_too_large', message: 'Request exceeds the maximum size' },
} as const satisfies Readonly<Record<string, Failure>>
