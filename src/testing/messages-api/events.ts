import type { ApiBlock } from './blocks.ts'
import type { ApiMessage } from './replies.ts'
import { textOf } from './request.ts'

export interface StreamEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** Maximum length of a delta, in UTF-16 code units. */
const deltaLength = 24

/** Splits a text into non-empty pieces without splitting a character. */
export const pieces = (text: string): readonly string[] => {
  const all: string[] = []
  for (let at = 0; at < text.length;) {
    const isSplit = !text.slice(at, at + deltaLength).isWellFormed()
    const end = at + deltaLength - (isSplit ? 1 : 0)
    all.push(text.slice(at, end))
    at = end
  }
  return all
}

/** Splits a block into its start and its deltas. */
const startOf = (block: ApiBlock): { readonly start: ApiBlock; readonly deltas: readonly StreamEvent[] } => {
  switch (block.type) {
    case 'text':
      return {
        start: { ...block, text: '' },
        deltas: pieces(textOf(block, 'text')).map((text) => ({ type: 'text_delta', text })),
      }
    case 'thinking':
      return {
        start: { ...block, thinking: '', signature: '' },
        deltas: [
          ...pieces(textOf(block, 'thinking')).map((thinking) => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: block['signature'] },
        ],
      }
    case 'tool_use':
    case 'server_tool_use':
      return {
        start: { ...block, input: {} },
        deltas: ['', ...pieces(JSON.stringify(block['input'] ?? {}))].map((partial_json) => ({
          type: 'input_json_delta',
          partial_json,
        })),
      }
    case 'compaction': {
      const { content, encrypted_content } = block
      return {
        start: { ...block, content: null },
        deltas: [
          {
            type: 'compaction_delta',
            content,
            ...(encrypted_content !== undefined && { encrypted_content }),
          },
        ],
      }
    }
    default:
      return { start: block, deltas: [] }
  }
}

const blockEvents = (block: ApiBlock, index: number): readonly StreamEvent[] => {
  const { start, deltas } = startOf(block)
  return [
    { type: 'content_block_start', index, content_block: start },
    ...(index === 0 ? [{ type: 'ping' }] : []),
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

/** Converts a message into the events of a stream. */
export const eventsOf = (message: ApiMessage): readonly StreamEvent[] => {
  const { content, stop_reason, stop_sequence, stop_details, container, usage } = message
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = usage
  const started = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  return [
    { type: 'message_start', message: started },
    ...content.flatMap(blockEvents),
    {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence, stop_details, container },
      usage: { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens },
    },
    { type: 'message_stop' },
  ]
}

/** Encodes an event as a server-sent event. */
export const encodeEvent = (event: StreamEvent): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
