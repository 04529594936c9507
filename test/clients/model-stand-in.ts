import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'

/** The body of a request to a model. */
export interface ModelBody {
  readonly messages?: readonly Record<string, unknown>[]
  readonly input?: readonly Record<string, unknown>[]
}

/** A server that answers `ok` to every request of the Messages and the Responses API, and keeps their bodies. */
export interface ModelStandIn {
  readonly url: string
  /** Returns the bodies received since the last call. */
  readonly taken: () => readonly ModelBody[]
  readonly close: () => Promise<void>
}

const decoders = new Map<string, (raw: Buffer) => Buffer>([
  ['gzip', (raw) => gunzipSync(raw)],
  ['zstd', (raw) => zstdDecompressSync(raw)],
])

/** Starts the stand-in on loopback. */
export const modelStandIn = async (): Promise<ModelStandIn> => {
  let bodies: ModelBody[] = []
  const server = createServer(async (request, response) => {
    const raw = await buffer(request)
    const text = (decoders.get(request.headers['content-encoding'] ?? '')?.(raw) ?? raw).toString()
    const path = request.url?.split('?')[0] ?? ''
    const json = (value: unknown): void => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    const events = (all: readonly { readonly type: string }[]): void => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
    }
    if (request.method !== 'POST') return json({ data: [], models: [] })
    if (path.endsWith('/count_tokens')) return json({ input_tokens: 1 })
    const body = JSON.parse(text) as ModelBody & { readonly stream?: boolean }
    bodies.push(body)
    if (path.endsWith('/messages')) return body.stream ? events(message.events) : json(message.whole)
    if (path.endsWith('/responses')) return body.stream ? events(answer.events) : json(answer.whole)
    response.writeHead(404).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken: () => {
      const all = bodies
      bodies = []
      return all
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const usage = {
  input_tokens: 1,
  output_tokens: 1,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
}
const content = [{ type: 'text', text: 'ok' }]
const whole = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-5-5',
  stop_sequence: null,
  usage,
}
const message = {
  whole: { ...whole, content, stop_reason: 'end_turn' },
  events: [
    { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ],
}

const said = { type: 'output_text', text: 'ok', annotations: [] }
const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [said] }
const tokens = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'stand-in',
  usage: tokens,
}
const at = { item_id: item.id, output_index: 0, content_index: 0 }
const answer = {
  whole: { ...response, output: [item] },
  events: [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...at, part: { ...said, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: 'ok' },
    { type: 'response.output_text.done', ...at, text: 'ok' },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...response, output: [item] } },
  ],
}
