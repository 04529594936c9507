import { type Fields, isFields } from '../events/json.ts'
import type { Origin } from '../events/events.ts'
import type { Block } from '../events/blocks.ts'
import type { WholeMessage } from '../agent/receipts/recorded.ts'
import type { ExchangeReply, RecordedApi } from './exchange.ts'
import { chatMessage, itemMessage, textIn } from './read-request.ts'

/** A whole reply of a model: its messages, and the data that its API reported about the call. */
export interface ReadReply {
  readonly messages: readonly WholeMessage[]
  readonly origin: Origin
}

/** Reads a reply; undefined if it failed, is not whole, or is no reply of a model. */
export const readReply = (
  api: RecordedApi,
  { status, headers, body, isWhole }: ExchangeReply,
): ReadReply | undefined => {
  const isStream = /event-stream/.test(headers['content-type'] ?? '')
  // Programs stop reading at the last event, before the stream has ended.
  if (status !== 200 || (!isWhole && !isStream)) return undefined
  const text = textIn(body, headers['content-encoding'])
  const read = readers[api]
  const message = isStream ? read.stream(eventsIn(text)) : (JSON.parse(text) as unknown)
  const reply = isFields(message) ? read.reply(message) : undefined
  const requestId = headers['request-id'] ?? headers['x-request-id']
  return reply && requestId !== undefined ? { ...reply, origin: { ...reply.origin, requestId } } : reply
}

/** Returns the data of server-sent events that are JSON objects, in order, without what comes after the last line break. */
const eventsIn = (text: string): readonly Fields[] =>
  text
    .split(/\r?\n/)
    .slice(0, -1)
    .flatMap((line) => {
      if (!line.startsWith('data:')) return []
      const data = line.slice('data:'.length).trim()
      if (data === '' || data === '[DONE]') return []
      const value: unknown = JSON.parse(data)
      return isFields(value) ? [value] : []
    })

interface ReplyReader {
  /** Joins the events of a stream to the reply that they carry; undefined if its end is missing. */
  readonly stream: (events: readonly Fields[]) => unknown
  readonly reply: (message: Fields) => ReadReply | undefined
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

const originOf = (model: unknown, stopReason: unknown, usage: unknown, more: Fields): Origin => ({
  ...(typeof model === 'string' && { model }),
  ...(typeof stopReason === 'string' && { stopReason }),
  ...(isFields(usage) && { usage }),
  ...(Object.keys(more).length > 0 && { message: more }),
})

/** Applies a delta of the Messages API to a block. Pieces of JSON are collected in `pieces`. */
const applyDelta = (block: Record<string, unknown>, delta: Fields, pieces: string[]): void => {
  const { type } = delta
  const add = (name: string, text: unknown): void => {
    block[name] = textOf(block[name]) + textOf(text)
  }
  if (type === 'text_delta') add('text', delta['text'])
  else if (type === 'thinking_delta') add('thinking', delta['thinking'])
  else if (type === 'signature_delta') add('signature', delta['signature'])
  else if (type === 'input_json_delta') pieces.push(String(delta['partial_json']))
  else if (type === 'citations_delta') {
    const { citations } = block
    block['citations'] = [...(Array.isArray(citations) ? (citations as unknown[]) : []), delta['citation']]
  } else if (type === 'compaction_delta') Object.assign(block, { content: delta['content'] })
}

const messages: ReplyReader = {
  stream: (events) => {
    let message: Record<string, unknown> | undefined
    let isDone = false
    const blocks: Record<string, unknown>[] = []
    const pieces: string[][] = []
    for (const event of events) {
      const { type, index } = event
      const at = Number(index)
      if (type === 'message_start') message = { ...(event['message'] as Fields) }
      else if (type === 'content_block_start') {
        blocks[at] = { ...(event['content_block'] as Fields) }
        pieces[at] = []
      } else if (type === 'content_block_delta' && blocks[at])
        applyDelta(blocks[at], event['delta'] as Fields, (pieces[at] ??= []))
      else if (type === 'content_block_stop' && blocks[at] && pieces[at]?.length) {
        const json = pieces[at].join('')
        if (json !== '') blocks[at]['input'] = JSON.parse(json)
      } else if (type === 'message_delta' && message) {
        const { usage, delta, ...more } = event
        const before = message['usage']
        Object.assign(message, delta, withoutNulls(more), {
          type: 'message',
          usage: { ...(isFields(before) && before), ...(isFields(usage) && usage) },
        })
      } else if (type === 'message_stop') isDone = true
    }
    return isDone && message ? { ...message, content: blocks } : undefined
  },
  reply: ({ type, role, content, model, stop_reason: stopReason, usage, ...more }) =>
    type !== 'message' || role !== 'assistant' || !Array.isArray(content)
      ? undefined
      : {
          messages: [{ role: 'assistant', content: content as readonly Block[] }],
          origin: originOf(model, stopReason, usage, withoutNulls(more)),
        },
}

const responses: ReplyReader = {
  stream: (events) => {
    // The items are complete in their own events; some servers leave them out of the last one.
    const items = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))
    const last = events.findLast(
      ({ type }) => type === 'response.completed' || type === 'response.incomplete',
    )?.['response']
    if (!isFields(last)) return undefined
    const { output } = last
    return Array.isArray(output) && output.length > 0 ? last : { ...last, output: items }
  },
  reply: ({ output, model, status, usage, id }) =>
    Array.isArray(output)
      ? {
          messages: output.filter(isFields).map(itemMessage),
          origin: originOf(model, status, usage, { id }),
        }
      : undefined,
}

/** Joins the pieces of tool calls of Chat Completions. */
const addCalls = (calls: Record<string, unknown>[], deltas: unknown): void => {
  for (const delta of Array.isArray(deltas) ? deltas.filter(isFields) : []) {
    const { index, function: given, ...more } = delta
    const at = Number(index ?? 0)
    const call = (calls[at] ??= { id: '', type: 'function', function: { name: '', arguments: '' } })
    Object.assign(call, withoutNulls(more))
    if (!isFields(given)) continue
    const made = call['function'] as Record<string, string>
    made['name'] += textOf(given['name'])
    made['arguments'] += textOf(given['arguments'])
  }
}

const chatCompletions: ReplyReader = {
  stream: (events) => {
    let text: string | null = null
    let finish: unknown
    const calls: Record<string, unknown>[] = []
    const whole: Record<string, unknown> = {}
    for (const { choices, ...more } of events) {
      Object.assign(whole, withoutNulls(more))
      const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
      if (!isFields(choice)) continue
      finish = choice['finish_reason'] ?? finish
      const { delta } = choice
      if (!isFields(delta)) continue
      if (typeof delta['content'] === 'string') text = (text ?? '') + delta['content']
      addCalls(calls, delta['tool_calls'])
    }
    if (typeof finish !== 'string') return undefined
    const message = { content: text, ...(calls.length > 0 && { tool_calls: calls }) }
    return { ...whole, choices: [{ message, finish_reason: finish }] }
  },
  reply: ({ choices, model, usage, id }) => {
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    const message = isFields(choice) ? choice['message'] : undefined
    if (!isFields(choice) || !isFields(message)) return undefined
    const { content = null, tool_calls: calls } = message
    const item = { role: 'assistant', content, ...(Array.isArray(calls) && { tool_calls: calls }) }
    return { messages: [chatMessage(item)], origin: originOf(model, choice['finish_reason'], usage, { id }) }
  },
}

const readers: Readonly<Record<RecordedApi, ReplyReader>> = {
  messages,
  responses,
  'chat-completions': chatCompletions,
}
