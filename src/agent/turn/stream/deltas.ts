import { type Fields, isFields } from '../../../events/json.ts'
import type { ReplyEvent } from '../../models/model.ts'
import type { Emit } from './turn-event.ts'

type Listener = (event: ReplyEvent) => void

/** Returns a listener that passes the events of a reply's stream to the caller's listener, and emits text, thinking and tool input. */
export const deltas = (emit: Emit, onEvent?: Listener): Listener => {
  /** Calls in the reply, by block index. */
  const calls = new Map<unknown, { readonly call: string; readonly tool: string }>()

  const begin = (index: number, { type, id, name, text, thinking }: Fields): void => {
    if (typeof id === 'string' && typeof name === 'string') calls.set(index, { call: id, tool: name })
    if (type === 'text') add(index, { type: 'text_delta', text })
    if (type === 'thinking') add(index, { type: 'thinking_delta', thinking })
  }

  const add = (index: number, { type, text, thinking, partial_json: json }: Fields): void => {
    if (type === 'text_delta' && isSome(text)) emit({ type: 'text', index, text })
    if (type === 'thinking_delta' && isSome(thinking)) emit({ type: 'thinking', index, thinking })
    const call = calls.get(index)
    if (type === 'input_json_delta' && isSome(json) && call)
      emit({ type: 'tool-input', index, ...call, json })
  }

  return (event) => {
    onEvent?.(event)
    const { type, index, content_block: block, delta } = event
    if (type === 'message_start') calls.clear()
    if (typeof index !== 'number') return
    if (type === 'content_block_start' && isFields(block)) begin(index, block)
    if (type === 'content_block_delta' && isFields(delta)) add(index, delta)
  }
}

const isSome = (value: unknown): value is string => typeof value === 'string' && value !== ''
