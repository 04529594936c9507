import type { ApiBlock } from './blocks.ts'
import type { InputUsage } from './prompt-cache.ts'
import { type ApiModel, type ParsedRequest, textOf } from './request.ts'
import type { Signatures } from './signatures.ts'
import { blockTokens, firstTokens } from './tokens.ts'

/** A simulated failure while an answer is sent. */
export interface Fault {
  /**
   * Kind of failure.
   * - `drop`: the connection breaks;
   * - `stall`: nothing more is sent, and the connection stays open;
   * - `end`: the stream ends as if it were complete;
   * - `error`: an `overloaded_error`, sent as an event in a stream; before any event, and for an answer without streaming, the status
   *   is 529.
   */
  readonly kind: 'drop' | 'stall' | 'end' | 'error'
  /**
   * Number of stream events, including pings, sent before the failure. Default: all events except `message_stop` for `end`; for other
   * kinds 0, that is, the failure occurs before the response headers. An answer without streaming fails before it is sent.
   */
  readonly after?: number
}

export type StopReason = 'end_turn' | 'tool_use' | 'pause_turn' | 'refusal' | 'max_tokens'

/** A scripted model reply. */
export interface ApiReply {
  /** Content blocks of any type. The server signs thinking and compactions, and adds an id to each call without one. */
  readonly content: readonly ApiBlock[]
  /** Reason why the reply stops. Default: `tool_use` if the content has a `tool_use` block, otherwise `end_turn`. */
  readonly stop_reason?: StopReason
  /** Usage fields that replace the computed ones. */
  readonly usage?: Partial<ApiUsage>
  /** Other fields of the message, such as `container` or `stop_sequence`. */
  readonly message?: Readonly<Record<string, unknown>>
  readonly fault?: Fault
  /** Delay in milliseconds before each event, or before the whole answer if it is not streamed. */
  readonly delay?: number
}

/** An error response. */
export interface ApiFailure {
  readonly status: number
  readonly type: string
  readonly message: string
  /** Seconds to wait before a retry. */
  readonly retryAfter?: number
}

export interface ApiUsage extends InputUsage {
  readonly output_tokens: number
}

/** A complete answer in the format of the API. */
export interface ApiMessage {
  readonly id: string
  readonly type: 'message'
  readonly role: 'assistant'
  readonly model: string
  readonly content: readonly ApiBlock[]
  readonly stop_reason: StopReason | 'model_context_window_exceeded'
  readonly stop_sequence: unknown
  readonly stop_details: unknown
  readonly container: unknown
  readonly diagnostics: null
  readonly usage: ApiUsage & { readonly service_tier: 'standard' }
}

interface Cut {
  readonly content: readonly ApiBlock[]
  readonly tokens: number
  readonly isCut: boolean
}

/** Cuts the content to `limit` tokens. The last remaining block is shortened if it is text or thinking, and omitted otherwise. */
const cut = (content: readonly ApiBlock[], limit: number): Cut => {
  let tokens = 0
  const kept: ApiBlock[] = []
  for (const block of content) {
    const cost = blockTokens(block)
    if (tokens + cost > limit) {
      const field = block.type === 'text' ? 'text' : 'thinking'
      const empty = blockTokens({ ...block, [field]: '' })
      const part = firstTokens(textOf(block, field), limit - tokens - empty)
      if ((block.type === 'text' || block.type === 'thinking') && part !== '')
        kept.push({ ...block, [field]: part })
      return { content: kept, tokens: limit, isCut: true }
    }
    tokens += cost
    kept.push(block)
  }
  return { content: kept, tokens: Math.max(1, tokens), isCut: false }
}

/** Prefixes of call ids, by block type. */
const prefixes = new Map([
  ['tool_use', 'toolu'],
  ['server_tool_use', 'srvtoolu'],
  ['mcp_tool_use', 'mcptoolu'],
])

/**
 * Completes a reply for sending: adds ids, signatures and usage, and cuts the reply to its limit.
 *
 * @param id unique suffix of the reply's ids
 */
export const finish = (
  reply: ApiReply,
  { request, model, billed, id }: { request: ParsedRequest; model: ApiModel; billed: InputUsage; id: string },
  { sign }: Signatures,
): ApiMessage => {
  const { model: name, max_tokens = 0 } = request.body
  const used = billed.input_tokens + billed.cache_read_input_tokens + billed.cache_creation_input_tokens
  const room = model.contextWindow - used
  const named = reply.content.map((block, index) => {
    const prefix = prefixes.get(block.type)
    return prefix !== undefined && block['id'] === undefined
      ? { ...block, id: `${prefix}_${id}_${index}` }
      : block
  })
  const { content, tokens, isCut } = cut(named, Math.min(max_tokens, room))
  const natural = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
  const limit = max_tokens <= room ? 'max_tokens' : 'model_context_window_exceeded'
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: name,
    content: sign(request, id, content),
    stop_reason: isCut ? limit : (reply.stop_reason ?? natural),
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    ...reply.message,
    usage: { ...billed, output_tokens: tokens, ...reply.usage, service_tier: 'standard' },
  }
}

const words = 'the store keeps each event and reads them again in order so that nothing is lost'.split(' ')

/** Returns the default reply: thinking if it is enabled, some words and, if tools are defined, a call in about every third reply. */
export const defaultReply = (request: ParsedRequest, digest: string): ApiReply => {
  const numbers = Buffer.from(digest, 'base64url')
  const numberAt = (index: number): number => numbers[index % numbers.length] ?? 0
  const length = 4 + (numberAt(0) % 28)
  const text = Array.from({ length }, (_, index) => words[numberAt(index + 1) % words.length]).join(' ')
  const tools = request.tools.filter((tool) => tool['input_schema'] !== undefined)
  const tool = tools[numberAt(2) % tools.length]
  const thinks = ['enabled', 'adaptive'].includes(request.body.thinking?.type ?? '')
  return {
    content: [
      ...(thinks ? [{ type: 'thinking', thinking: `So ${text.slice(0, 20)}`.trim() }] : []),
      { type: 'text', text: `${text}.` },
      ...(tool && numberAt(3) % 3 === 0 ? [{ type: 'tool_use', name: String(tool['name']), input: {} }] : []),
    ],
  }
}
