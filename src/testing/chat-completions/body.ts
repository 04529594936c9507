/** A JSON object with arbitrary fields. */
export interface JsonFields {
  readonly [field: string]: unknown
}

export const isFields = (value: unknown): value is JsonFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export interface ChatContentPart extends JsonFields {
  readonly type: string
}
export interface ChatToolCall extends JsonFields {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}
export interface BodyMessage extends JsonFields {
  readonly role: 'developer' | 'system' | 'user' | 'assistant' | 'tool'
  readonly content?: string | readonly ChatContentPart[] | null
  readonly tool_calls?: readonly ChatToolCall[]
  readonly tool_call_id?: string
}
export interface BodyTool extends JsonFields {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly parameters?: JsonFields
    readonly [field: string]: unknown
  }
}
/** Body of a valid request. */
export interface ChatRequest extends JsonFields {
  readonly model: string
  readonly messages: readonly BodyMessage[]
  readonly tools?: readonly BodyTool[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
}

/** An error response. */
export interface ChatFailure {
  readonly status: number
  readonly type: string
  readonly message: string
  readonly code?: string | null
  readonly param?: string | null
  /** Seconds to wait before a retry. */
  readonly retryAfter?: number
}

/** Known deviations of compatible endpoints from OpenAI's API. */
export interface Manners {
  /** True if the endpoint ignores `stream` and returns the reply in one piece, like servers that do not implement it. */
  readonly ignoresStream?: boolean
  /** True if the endpoint refuses `stream_options`, like servers that reject unknown fields. */
  readonly refusesStreamOptions?: boolean
  /** True if the endpoint reports no usage. */
  readonly countsNothing?: boolean
  /** True if the endpoint refuses a user message right after a tool message, like Mistral and chat templates with alternating roles. */
  readonly refusesUserAfterTool?: boolean
  /** True if the endpoint returns content as a list of parts, one of which holds the reasoning, like Mistral. */
  readonly hasParts?: boolean
  /**
   * Form of streamed tool calls, if each is sent in one chunk: with the same index and no id (Gemini), with the same id (some
   * gateways), or with neither. Default: OpenAI's form.
   */
  readonly calls?: 'same-index' | 'same-id' | 'bare'
  /** Returns the body of an error response. Default: OpenAI's `{ error }`. */
  readonly errorBody?: (error: JsonFields) => unknown
  /** Returns the error for a request that exceeds the context window. */
  readonly tooLong?: (tokens: number, contextWindow: number) => ChatFailure
}

/** A model of the endpoint with its limits. */
export interface ChatModel extends Manners {
  /** Maximum tokens of a request and its reply together. */
  readonly contextWindow: number
  readonly maxOutput: number
  /** Minimum length of a prompt that is cached, in tokens. */
  readonly minCached: number
  /** True if the model still accepts `max_tokens`. */
  readonly maxTokens: boolean
  /** Message field for reasoning, used by compatible endpoints. Requests may contain it as well. */
  readonly reasoning?: 'reasoning_content' | 'reasoning'
  /** True if messages with tool calls since the last user message must be sent back with their reasoning. */
  readonly needsReasoning: boolean
}

/** Reason for refusing a request, with the fields of the error response. */
export interface ChatRefusal {
  /** HTTP status. Default 400. */
  readonly status?: number
  readonly type?: string
  readonly message: string
  readonly param: string | null
  readonly code: string | null
}

export const problem = (param: string | null, code: string | null, message: string): ChatRefusal => ({
  message,
  param,
  code,
})
export const invalidType = (param: string, expected: string): ChatRefusal =>
  problem(param, 'invalid_type', `Invalid type for '${param}': expected ${expected}.`)
export const invalidValue = (param: string, allowed: string): ChatRefusal =>
  problem(param, 'invalid_value', `Invalid value for '${param}': ${allowed}.`)
export const missingParameter = (param: string): ChatRefusal =>
  problem(param, 'missing_required_parameter', `Missing required parameter: '${param}'.`)
export const unknown = (param: string): ChatRefusal =>
  problem(param, 'unknown_parameter', `Unknown parameter: '${param}'.`)
export const tooLong = (param: string, most: number, length: number, what = 'array'): ChatRefusal =>
  problem(
    param,
    `${what}_above_max_length`,
    `Invalid '${param}': ${what} too long, at most ${most}, but it has ${length}.`,
  )
export const tooShort = (param: string, what = 'array'): ChatRefusal =>
  problem(param, `empty_${what}`, `Invalid '${param}': empty ${what}.`)

/** Returns the first problem that the checks find. A check runs only if the checks before it found no problem. */
export const first = (...checks: readonly (() => ChatRefusal | undefined)[]): ChatRefusal | undefined => {
  for (const check of checks) {
    const found = check()
    if (found) return found
  }
  return undefined
}

/** Returns the first problem among the items of a list. */
export const firstOf = <T>(
  items: readonly T[],
  check: (item: T, index: number) => ChatRefusal | undefined,
): ChatRefusal | undefined => first(...items.map((item, index) => () => check(item, index)))

export const strayIn = (
  fields: JsonFields,
  allowed: readonly string[],
  path: string,
): ChatRefusal | undefined => {
  const stray = Object.keys(fields).find((name) => !allowed.includes(name))
  return stray === undefined ? undefined : unknown(path === '' ? stray : `${path}.${stray}`)
}
