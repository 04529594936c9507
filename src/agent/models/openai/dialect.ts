import { type Dialect, isPassingStatus } from '../streaming/failures.ts'

/**
 * Error messages of endpoints for a request that is too long. "Too many tokens" alone is not included, because it is also used for rate
 * limits and for the limit of the reply.
 */
const tooLong = new RegExp(
  [
    // OpenAI, Azure, DeepSeek, Mistral, vLLM, SGLang, OpenRouter, Ollama, xAI ("prompt length").
    'maximum (context|prompt) length',
    // vLLM.
    'longer than the maximum model length',
    // LM Studio; Together and newer SGLang.
    "context length (is|of) only|greater than the context length|longer than the (model'?s )?context length",
    // llama.cpp, Ollama, OpenAI, MiniMax ("exceeds limit"), and gateways.
    "exceed(s|ed)? the (available |model'?s? )?(maximum )?context (size|window|length)|exceeds? (model )?context (window|limit)",
    'context[ _](size|window|length)[ _](was |has been )?exceed(ed|s limit)|ContextWindowExceeded',
    'exceeded (max(imum)? )?context length|configured context size is',
    // Older llama.cpp, as LM Studio shows it.
    'n_keep\\D+\\d+\\W+n_ctx',
    // Groq and Cerebras.
    'reduce the length of',
    // Together and TGI; TensorRT-LLM.
    '`inputs` tokens \\+ `max_new_tokens`|`inputs` must have less than|sum of prompt length .*max_num_tokens',
    // Gemini, GitHub Copilot, OpenAI, Poolside.
    'input token count .*exceeds the maximum|prompt token count of \\d+ exceeds|input tokens exceed the configured limit',
    'exceeds? the maximum allowed input length',
    // Kimi, Cohere, DashScope.
    'exceeded model token limit|number of tokens in the prompt cannot exceed|range of input length should be',
    // Mistral, Z.ai, Bedrock, and others.
    'prompt contains \\d+ tokens.* too large|prompt exceeds max length',
    '(prompt|input|request) (is )?too (long|large)',
    // OpenAI, for too many messages.
    "'messages': array too long",
  ].join('|'),
  'i',
)
const badRequest: ReadonlySet<number | undefined> = new Set([undefined, 400, 422, 500])
const tooLongCodes: ReadonlySet<unknown> = new Set([
  'context_length_exceeded',
  'model_max_prompt_tokens_exceeded',
  'exceed_context_size_error',
])
/** Error messages about a rate limit, with any status. These errors are transient. */
const rate = /rate.?limit|tokens per (min|day|hour)|\bTP[MD]\b|throttl|please wait/i
/** Error message for a request that alone exceeds a limit of tokens per minute, so that waiting would not help. */
const tooLargeForRate = /request too large/i

/** Types or codes of permanent errors. */
const lasting: ReadonlySet<unknown> = new Set([
  'invalid_request_error',
  'insufficient_quota',
  'authentication_error',
  'permission_error',
  'not_found_error',
])

/** Error messages of Mistral, and of the templates of Mistral, Llama and Gemma, that refuse a user message directly after a tool result. */
const refusesOrder = /unexpected role '?(user|system)'? after role '?tool|roles must alternate/i

/** Reports whether an error may be avoided by inserting an assistant message between tool results and the user's message. */
export const wantsBridge = ({
  status,
  message,
}: {
  readonly status?: number
  readonly message: string
}): boolean => badRequest.has(status) && refusesOrder.test(message)

export const openAiDialect: Dialect = {
  key: 'OPENAI_API_KEY',
  isTooLong: ({ status, type, code, message }) =>
    tooLongCodes.has(code) ||
    tooLongCodes.has(type) ||
    (badRequest.has(status) && tooLong.test(message) && !rate.test(message)) ||
    (status === 429 && tooLargeForRate.test(message)),
  isPassing: ({ status, type, code }) => {
    const isLasting = lasting.has(code) || lasting.has(type)
    // Gateways put the status of a provider's error into `code`, if the stream has begun.
    const known = status ?? (typeof code === 'number' ? code : undefined)
    if (known !== undefined) return isPassingStatus(known) && code !== 'insufficient_quota'
    return type || code ? !isLasting : undefined
  },
}
