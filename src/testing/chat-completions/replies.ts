import { firstTokens, textTokens } from '../messages-api/tokens.ts'
import type { ChatRequest, ChatToolCall, JsonFields, ChatModel } from './body.ts'
import type { Prompt } from './tokens.ts'

/** Failure of an answer. */
export interface ChatFault {
  /**
   * - `drop`: the connection breaks;
   * - `stall`: nothing more comes, and the connection stays open;
   * - `end`: the stream ends as if it were complete, without the rest and without `[DONE]`;
   * - `error`: an error comes in the stream; before any chunk, and in a plain answer, it is a 503.
   */
  readonly kind: 'drop' | 'stall' | 'end' | 'error'
  /** Number of chunks of the stream before the failure. Default: before the answer's head. */
  readonly after?: number
}

/** A model's reply. */
export interface ChatReply {
  readonly content?: string | null
  readonly refusal?: string
  /** Reasoning, sent in the field that the model uses for it. */
  readonly reasoning?: string
  /** Calls. `arguments` is JSON, valid or not; anything but a string is written as JSON. A call without an id gets one. */
  readonly tool_calls?: readonly {
    readonly id?: string
    readonly name: string
    readonly arguments?: unknown
  }[]
  /** Reason of the stop. Default: `tool_calls` with calls, otherwise `stop`; `length` if the reply is cut. */
  readonly finish_reason?: 'stop' | 'length' | 'tool_calls' | 'content_filter' | (string & {})
  /** Further fields of the message. */
  readonly message?: JsonFields
  readonly usage?: JsonFields
  readonly fault?: ChatFault
  /** Delay in milliseconds before each chunk, and before a plain answer. */
  readonly delay?: number
}

/** An answer in one piece. */
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
  /** Token usage; absent from an endpoint that counts nothing. */
  readonly usage?: JsonFields & {
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly total_tokens: number
  }
  readonly service_tier: 'default'
}

const perCall = 7

/** Returns the texts of a reply that fit into the limit, in the order in which they are written; the last one may be cut. */
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
 * Completes a reply for sending: with ids, cut to its limit, and billed.
 *
 * @param id the part of its ids that is unique to this reply
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

/** Returns the default reply: some words, and a call in every third reply if there are tools. */
export const defaultReply = ({ tools = [], tool_choice: choice }: ChatRequest, digest: string): ChatReply => {
  const numbers = Buffer.from(digest, 'base64url')
  const numberAt = (index: number): number => numbers[index % numbers.length] ?? 0
  const length = 4 + (numberAt(0) % 20)
  const text = Array.from({ length }, (_, index) => words[numberAt(index + 1) % words.length]).join(' ')
  const tool = choice === 'none' ? undefined : tools[numberAt(2) % tools.length]
  const calls = tool && numberAt(3) % 3 === 0 ? { tool_calls: [{ name: tool.function.name }] } : {}
  return { content: `${text}.`, ...calls }
}
