import { firstTokens, textTokens } from '../messages-api/tokens.ts'
import type { ChatRequest, ChatToolCall, JsonFields, ChatModel } from './body.ts'
import type { Prompt } from './tokens.ts'

/** A simulated failure while an answer is sent. */
export interface ChatFault {
  /**
   * Kind of failure.
   * - `drop`: the connection breaks;
   * - `stall`: nothing more is sent, and the connection stays open;
   * - `end`: the stream ends as if it were complete, without the remaining chunks and without `[DONE]`;
   * - `error`: the stream contains an error; before any chunk, and for an answer without streaming, the status is 503.
   */
  readonly kind: 'drop' | 'stall' | 'end' | 'error'
  /**
   * Number of chunks sent before the failure. Default: 1 for `end`; for other kinds 0, that is, the failure occurs before the response
   * headers.
   */
  readonly after?: number
}

/** A scripted model reply. */
export interface ChatReply {
  readonly content?: string | null
  readonly refusal?: string
  /** Reasoning text, sent in the model's `reasoning` field. */
  readonly reasoning?: string
  /**
   * Tool calls. A string in `arguments` is sent unchanged, whether or not it is valid JSON; any other value is encoded as JSON. A call
   * without an id receives one.
   */
  readonly tool_calls?: readonly {
    readonly id?: string
    readonly name: string
    readonly arguments?: unknown
  }[]
  /**
   * Reason why the reply stops. Default: `tool_calls` if the reply contains calls, otherwise `stop`. A reply that is cut at its limit
   * has `length`.
   */
  readonly finish_reason?: 'stop' | 'length' | 'tool_calls' | 'content_filter' | (string & {})
  /** Additional fields of the message, which may replace the generated ones. */
  readonly message?: JsonFields
  readonly usage?: JsonFields
  readonly fault?: ChatFault
  /** Delay in milliseconds before each chunk, or before an answer without streaming. */
  readonly delay?: number
}

/** A complete answer without streaming. */
export interface Completion {
  readonly id: string
  readonly object: 'chat.completion'
  readonly created: number
  readonly model: string
  readonly choices: readonly [
    {
      readonly index: 0
      readonly message: JsonFields & {
        readonly role: 'assistant'
        readonly tool_calls?: readonly ChatToolCall[]
      }
      readonly logprobs: null
      readonly finish_reason: NonNullable<ChatReply['finish_reason']>
    },
  ]
  /** Token usage; absent if the endpoint does not report it. */
  readonly usage?: JsonFields & {
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly total_tokens: number
  }
  readonly service_tier: 'default'
}

const perCall = 7

/** Cuts texts to a total of `limit` tokens, in order. The last remaining text may be shortened. */
const cut = (texts: readonly string[], limit: number) => {
  let tokens = 0
  let isCut = false
  const kept = texts.map((text) => {
    if (isCut) return undefined
    const cost = textTokens(text)
    const fits = tokens + cost <= limit
    const part = fits ? text : firstTokens(text, limit - tokens)
    tokens += fits ? cost : limit - tokens
    isCut = !fits
    return part
  })
  return { kept, tokens, isCut }
}

/**
 * Completes a reply for sending: adds ids and usage, and cuts the reply to its limit.
 *
 * @param id unique suffix of the reply's ids
 */
export const finish = (
  reply: ChatReply,
  {
    body,
    model,
    prompt,
    cached,
    id,
  }: {
    readonly body: ChatRequest
    readonly model: ChatModel
    readonly prompt: Prompt
    readonly cached: number
    readonly id: string
  },
): Completion => {
  const { content = null, reasoning = '', refusal, tool_calls: wanted = [] } = reply
  const room = model.contextWindow - prompt.tokens
  const limit = Math.min(body.max_completion_tokens ?? body.max_tokens ?? model.maxOutput, room)
  const json = wanted.map(({ arguments: given = {} }) =>
    typeof given === 'string' ? given : JSON.stringify(given),
  )
  const { kept, tokens, isCut } = cut([reasoning, content ?? '', ...json], limit)
  const [thought = '', said = '', ...inputs] = kept
  const sameId = model.calls === 'same-id' ? { id: 'call_0' } : {}
  const calls = wanted.flatMap((call, index): ChatToolCall[] => {
    const input = inputs[index]
    if (input === undefined) return []
    const made = { name: call.name, arguments: input }
    return [{ id: call.id ?? `call_${id}_${index}`, ...sameId, type: 'function', function: made }]
  })
  const natural = calls.length > 0 ? 'tool_calls' : 'stop'
  const used = Math.min(limit, tokens + perCall * calls.length) || 1
  return {
    id: `chatcmpl-${id}`,
    object: 'chat.completion',
    created: 1_760_000_000,
    model: body.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: model.hasParts
            ? partsOf(thought, said)
            : content === null || (said === '' && isCut)
              ? null
              : said,
          refusal: refusal ?? null,
          ...(thought !== '' && model.reasoning && !model.hasParts && { [model.reasoning]: thought }),
          ...(calls.length > 0 && { tool_calls: calls }),
          ...reply.message,
        },
        logprobs: null,
        finish_reason: isCut ? 'length' : (reply.finish_reason ?? natural),
      },
    ],
    ...(!model.countsNothing && {
      usage: {
        prompt_tokens: prompt.tokens,
        completion_tokens: used,
        total_tokens: prompt.tokens + used,
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens_details: { reasoning_tokens: textTokens(thought) },
        ...reply.usage,
      },
    }),
    service_tier: 'default',
  }
}

const partsOf = (thought: string, said: string): readonly JsonFields[] => [
  ...(thought === '' ? [] : [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }]),
  ...(said === '' ? [] : [{ type: 'text', text: said }]),
]

const words = 'each event is kept and read again in order so nothing that was said is lost'.split(' ')

/** Returns the default reply: some words and, if tools are defined, a call in about every third reply. */
export const defaultReply = ({ tools = [], tool_choice: choice }: ChatRequest, digest: string): ChatReply => {
  const numbers = Buffer.from(digest, 'base64url')
  const numberAt = (index: number): number => numbers[index % numbers.length] ?? 0
  const length = 4 + (numberAt(0) % 20)
  const text = Array.from({ length }, (_, index) => words[numberAt(index + 1) % words.length]).join(' ')
  const tool = choice === 'none' ? undefined : tools[numberAt(2) % tools.length]
  const calls = tool && numberAt(3) % 3 === 0 ? { tool_calls: [{ name: tool.function.name }] } : {}
  return { content: `${text}.`, ...calls }
}
