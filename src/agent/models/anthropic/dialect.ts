import { type Dialect, isPassingStatus } from '../streaming/failures.ts'

/**
 * Error messages for a request that is too long, from Anthropic, Bedrock ("Input is too long for requested model.", "too many total
 * text bytes"), Vertex and gateways. Bedrock's "Too many tokens" is not included, because it reports a rate limit.
 */
const tooLong =
  /(prompt|input|request) (is )?too (long|large)|too many total text bytes|request_too_large|exceed(s|ed)? (the )?(model'?s )?(maximum )?(context (window|limit|length)|prompt length)|context (window|length|limit) (was )?exceed|context_length_exceeded|maximum (context|prompt) length/i
/** HTTP statuses of invalid requests; some gateways use 422. */
const badRequest: ReadonlySet<number | undefined> = new Set([undefined, 400, 422])

/** Types of errors in a stream that are worth retrying. */
const passing: ReadonlySet<unknown> = new Set([
  'overloaded_error',
  'api_error',
  'rate_limit_error',
  'timeout_error',
])

export const anthropicDialect: Dialect = {
  key: 'ANTHROPIC_API_KEY',
  isTooLong: ({ status, type, message }) => badRequest.has(status) && tooLong.test(`${type} ${message}`),
  isPassing: ({ status, type }) =>
    status !== undefined ? isPassingStatus(status) : type ? passing.has(type) : undefined,
}
