import type { ChatFailure } from './body.ts'

interface ChatFailures {
  /** Status 503: the server is overloaded. */
  readonly overloaded: ChatFailure
  /** Status 429: the rate limit is exceeded. Takes an optional `retryAfter`, in seconds. */
  readonly rateLimited: ChatFailure
  /** Status 429: the quota is used up. Retrying does not help. */
  readonly noQuota: ChatFailure
  /** Status 500: a server error. */
  readonly broken: ChatFailure
  /** Status 401: the API key is invalid. */
  readonly unauthorized: ChatFailure
  /** Status 404: the URL is invalid. */
  readonly notFound: ChatFailure
}

/**
 * Errors of the API that are independent of the request. To simulate one, return it from `reply`, optionally as `{ ...failure,
 * retryAfter }`.
 */
export const chatFailures: ChatFailures = {
  overloaded: {
    status: 503,
    type: 'server_error',
    message: 'The engine is currently overloaded, please try again later',
  },
  rateLimited: {
    status: 429,
    type: 'requests',
    message: 'Rate limit reached: too many requests per minute',
    code: 'rate_limit_exceeded',
  },
  noQuota: {
    status: 429,
    type: 'insufficient_quota',
    message: 'You exceeded your current quota',
    code: 'insufficient_quota',
  },
  broken: {
    status: 500,
    type: 'server_error',
    message: 'The server had an error while processing your request',
  },
  unauthorized: {
    status: 401,
    type: 'invalid_request_error',
    message: 'Incorrect API key provided',
    code: 'invalid_api_key',
  },
  notFound: { status: 404, type: 'invalid_request_error', message: 'Invalid URL', code: null },
}
