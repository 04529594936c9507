import type { ApiBlock } from './blocks.ts'
import type { InputUsage } from './prompt-cache.ts'
import { type ApiModel, type ParsedRequest, textOf } from './request.ts'
import type { Signatures } from './signatures.ts'
import { blockTokens, firstTokens } from './tokens.ts'

/** Failure of an answer. */
export interface Fault {
  /**
   * - `drop`: the connection breaks;
   * - `stall`: nothing more comes, and the connection stays open;
   * - `end`: the stream ends as if it were complete;
   * - `error`: an `overloaded_error`, in a stream as an event; before any event, and in a plain answer, with status 529.
   */
  readonly kind: 'drop' | 'stall' | 'end' | 'error'
  /**
   * Number of events of a stream, including pings, before the failure. Default: before the headers of the answer; for `end`, before
   * `message_stop`. A plain answer fails before it is sent.
   */
  readonly after?: number
}

export type StopReason = 'end_turn' | 'tool_use' | 'pause_turn' | 'refusal' | 'max_tokens'

/** A model's reply. */
export interface ApiReply {
  /** Blocks of any type. Thinking and compactions are signed by the server; a call without `id` gets one. */
  readonly content: readonly ApiBlock[]
  /** Reason of the stop. Default: `tool_use` if there is such a block, otherwise `end_turn`. */
  readonly stop_reason?: StopReason
  /** Usage numbers that replace the real ones. */
  readonly usage?: Partial<ApiUsage>
  /** Other fields of the message: `container`, `stop_sequence`, … */
  readonly message?: Readonly<Record<string, unknown>>
  readonly fault?: Fault
  /** Delay in milliseconds before each event, and before a plain answer. */
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

/** An answer as the API sends it. */
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

/** Returns the blocks that fit into the limit, with the last one in part if it is text or thinking. */
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

/** Prefixes of call ids. */
const prefixes = new Map([
  ['tool_use', 'toolu'],
  ['server_tool_use', 'srvtoolu'],
  ['mcp_tool_use', 'mcptoolu'],
])

/**
 * Completes a reply for sending: with ids, cut to its limit, signed and billed.
 *
 * @param id the part of its ids that is unique to this reply
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

/** Returns the default reply: thinking if it is on, some words, and a call in every third reply if there are tools. */
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
