import type { ChatFailure } from './replies.ts'

/** The API's errors that do not depend on the request: return one from `reply`, or `{ ...failure, retryAfter }`. */
export const chatFailures = {
  /** 503. */
  overloaded: {
    status: 503,
    type: 'server_error',
    message: 'The engine is currently overloaded, please try again later',
  },
  /** 429: after `retryAfter` seconds if given. */
  rateLimited: {
    status: 429,
    type: 'requests',
    message: 'Rate limit reached: too many requests per minute',
    code: 'rate_limit_exceeded',
  },
  /** 429 that no retry helps against. */
  noQuota: {
    status: 429,
    type: 'insufficient_quota',
    message: 'You exceeded your current quota',
    code: 'insufficient_quota',
  },
  /** 500. */
  broken: {
    status: 500,
    type: 'server_error',
    message: 'The server had an error while processing your request',
  },
  /** 401. */
  unauthorized: {
    status: 401,
    type: 'invalid_request_error',
    message: 'Incorrect API key provided',
    code: 'invalid_api_key',
  },
  /** 404. */
  notFound: { status: 404, type: 'invalid_request_error', message: 'Invalid URL', code: null },
} as const satisfies Readonly<Record<string, ChatFailure>>
