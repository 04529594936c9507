import type { TurnOptions } from '../src/index.ts'
import { messageAt } from './messages.ts'

/** What turns are measured with, besides the client. */
export const turnOptions: Omit<TurnOptions, 'client'> = {
  model: 'claude-opus-5-5',
  system: messageAt(0).content,
  tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' } }],
  run: { look: () => messageAt(0).content },
  parameters: { max_tokens: 1_000 },
  context: { window: 1_000_000 },
  maxCalls: 1_000,
}

/** UTF-16 units of one delta. */
const deltaLength = 24
/** About what a message of a kilobyte is. */
const tokensEach = 310

/**
 * A client of a model that answers at once, and how many milliseconds were spent in it: from each call until its stream has ended.
 *
 * @param toolCalls so many replies are one call of the tool, then one is a text
 * @param length kilobytes of each
 * @param called with each call, before it is answered: once what it returns has resolved
 */
export const instantClient = (
  toolCalls: number,
  length = 1,
  called: () => Promise<void> | undefined = () => undefined,
): { readonly client: TurnOptions['client']; readonly spent: () => number } => {
  let asked = 0
  let spent = 0
  const create = (params: { readonly messages: readonly unknown[] }) => {
    const start = performance.now()
    const events = eventsOf(params.messages.length, length, asked++ < toolCalls)
    const ready = called()
    async function* stream() {
      await ready
      yield* events
      spent += performance.now() - start
    }
    return { withResponse: () => Promise.resolve({ data: stream(), request_id: `req_${asked}` }) }
  }
  // Of the SDK's client there is only what a turn uses.
  const client = { messages: { create, countTokens: create } } as unknown as TurnOptions['client']
  return { client, spent: () => spent }
}

const eventsOf = (messages: number, length: number, isCall: boolean): readonly object[] => {
  const text = messageAt(messages).content.repeat(length)
  const [block, json] = isCall
    ? [{ type: 'tool_use', id: `toolu_${messages}`, name: 'look', input: {} }, JSON.stringify({ text })]
    : [{ type: 'text', text: '' }, text]
  const deltas = Array.from({ length: Math.ceil(json.length / deltaLength) }, (_, index) => {
    const piece = json.slice(index * deltaLength, (index + 1) * deltaLength)
    return isCall ? { type: 'input_json_delta', partial_json: piece } : { type: 'text_delta', text: piece }
  })
  const usage = {
    input_tokens: messages * tokensEach,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  }
  return [
    {
      type: 'message_start',
      message: { id: `msg_${messages}`, model: turnOptions.model, content: [], usage },
    },
    { type: 'content_block_start', index: 0, content_block: block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: isCall ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: tokensEach },
    },
    { type: 'message_stop' },
  ]
}
