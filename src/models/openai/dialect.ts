import { type Dialect, isPassingStatus } from '../streaming/failures.ts'

/**
 * How endpoints say in words that a request is too long: OpenAI, Azure, DeepSeek and vLLM ("maximum context length"), llama.cpp and Ollama
 * ("exceeds the available context size"), Groq ("reduce the length"), Together ("`inputs` tokens + `max_new_tokens`"), OpenRouter and
 * other gateways. The last one: a request holds so many messages.
 */
const tooLong =
  /maximum (context|prompt) length|context length is only|exceed(s|ed)? the (available |model'?s )?(maximum )?context (size|window|length)|context (size|window|length) (was )?exceed|context_length_exceeded|reduce the length of|`inputs` tokens \+ `max_new_tokens`|(prompt|input|request) (is )?too (long|large)|'messages': array too long/i
const badRequest: ReadonlySet<number | undefined> = new Set([undefined, 400, 422, 500])
/** Of a rate limit in tokens a minute: no wait would help. */
const tooLargeForRate = /request too large/i

/** Kinds of errors that stay, by type or code. */
const lasting: ReadonlySet<unknown> = new Set([
  'invalid_request_error',
  'insufficient_quota',
  'authentication_error',
  'permission_error',
  'not_found_error',
])

export const openAiDialect: Dialect = {
  key: 'OPENAI_API_KEY',
  isTooLong: ({ status, type, code, message }) =>
    code === 'context_length_exceeded' ||
    type === 'exceed_context_size_error' ||
    (badRequest.has(status) && tooLong.test(message)) ||
    (status === 429 && tooLargeForRate.test(message)),
  isPassing: ({ status, type, code }) => {
    const isLasting = lasting.has(code) || lasting.has(type)
    // Gateways put the status of a provider's error into `code`, if the stream has begun.
    const known = status ?? (typeof code === 'number' ? code : undefined)
    if (known !== undefined) return isPassingStatus(known) && code !== 'insufficient_quota'
    return type || code ? !isLasting : undefined
  },
}
