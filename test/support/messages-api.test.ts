import Anthropic, { AnthropicError, APIConnectionError, APIUserAbortError } from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import type { Block } from '../../src/events/blocks.ts'
import { text, toolResult, toolUse } from './log.ts'
import { asks, hello, type Messages, opus, params, type Params, refusal } from './messages-api/client.ts'
import { says, start, yes } from './messages-api/client.ts'
import { failures } from '../../src/testing/messages-api/failures.ts'
import type { ApiFailure, ApiReply } from '../../src/testing/messages-api/replies.ts'
import type { MessagesApiOptions } from '../../src/testing/messages-api/server.ts'

const answering = (...replies: readonly (ApiReply | ApiFailure)[]): MessagesApiOptions => ({
  reply: (_, n) => replies[n] ?? { content: [text('Yes.')] },
})

const ask = params([hello])

const everything: ApiReply = {
  content: [
    { type: 'thinking', thinking: 'What is asked? The weather, which a tool knows.' },
    text('I shall look. 😀 '.repeat(10)),
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'weather' } },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    toolUse('toolu_1', { city: 'a long name of a city', days: [1, 2, 3] }),
  ],
}

describe('the stand-in answers the SDK', () => {
  it('in one piece, with usage, stop reason and request id', async () => {
    const { client, api } = await start(answering(everything))
    const { data, request_id } = await client.messages.create(ask).withResponse()
    expect(data).toMatchObject({ role: 'assistant', model: opus, stop_reason: 'tool_use' })
    expect(data.content.map(({ type }) => type)).toEqual(everything.content.map(({ type }) => type))
    expect(data.content.slice(1)).toEqual(everything.content.slice(1))
    expect(request_id).toMatch(/^req_/)
    expect(api.requests).toMatchObject([
      { path: '/v1/messages', body: ask, status: 200, answer: { id: data.id } },
    ])
    expect(api.requests[0]?.headers['anthropic-version']).toBe('2026-10-21')
    expect(api.requests[0]?.isComplete()).toBe(true)
    api.forgetRequests()
    expect(api.requests).toEqual([])
  })

  it('with the same message as a stream', async () => {
    const { client, api } = await start(answering(everything, everything))
    const streamed = await client.messages.stream(ask).finalMessage()
    expect(streamed).toEqual({ ...api.requests[0]?.answer, parsed_output: null })
    const types = new Set<string>()
    for await (const event of await client.messages.create({ ...ask, stream: true }))
      types.add(event.type === 'content_block_delta' ? event.delta.type : event.type)
    expect([...types]).toEqual([
      'message_start',
      'content_block_start',
      'thinking_delta',
      'signature_delta',
      'content_block_stop',
      'text_delta',
      'input_json_delta',
      'message_delta',
      'message_stop',
    ])
  })

  it('with pings in the stream, which the SDK leaves out', async () => {
    const { client } = await start()
    const response = await client.messages.create({ ...ask, stream: true }).asResponse()
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    expect(await response.text()).toContain('event: ping\ndata: {"type":"ping"}\n\n')
  })

  it('with a compaction block, by the beta API too', async () => {
    const { client } = await start(answering({ content: [{ type: 'compaction', content: 'All of it.' }] }))
    const message = await client.beta.messages.stream(ask as never).finalMessage()
    expect(message.content).toMatchObject([{ type: 'compaction', content: 'All of it.' }])
  })

  it('with the number of tokens, which is what a request then costs', async () => {
    const { client } = await start()
    const messages = [asks(text('Count 12345 words, please!')), says(toolUse('a', { n: [1] }))]
    const whole = params([...messages, asks(toolResult('a', [text('one')]))], { system: 'Be brief.' })
    const { max_tokens: _, ...counted } = whole
    const { input_tokens } = await client.messages.countTokens(counted)
    const { usage } = await client.messages.create(whole)
    expect(usage.input_tokens).toBe(input_tokens)
    const longer = params([
      ...whole.messages.slice(0, -1),
      asks(toolResult('a', [text('one two')])),
    ] as Messages)
    expect((await client.messages.create({ ...longer, system: 'Be brief.' })).usage.input_tokens).toBe(
      input_tokens + 1,
    )
  })

  it('by default with a reply that the request and the seed decide', async () => {
    const said = async (seed: number, asked: Params): Promise<unknown> =>
      (await (await start({ seed })).client.messages.create(asked)).content
    const thinks = { ...ask, thinking: { type: 'adaptive' } } as const
    expect(await said(1, thinks)).toEqual(await said(1, thinks))
    expect(await said(1, thinks)).not.toEqual(await said(2, thinks))
    expect(await said(1, ask)).not.toEqual(await said(1, params([asks(text('Goodbye.'))])))
  })

  it('by default with calls now and then, whose ids are never the same', async () => {
    const { client } = await start()
    const tools = [{ name: 'run', input_schema: { type: 'object' } }]
    const ids: string[] = []
    for (let n = 0; n < 20; n++) {
      const { content } = await client.messages.create(params([asks(text(`Ask ${n % 10}.`))], { tools }))
      ids.push(...content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])))
    }
    expect(ids.length).toBeGreaterThan(0)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('the stand-in fails', () => {
  it('with the status, type, text and retry-after of the script', async () => {
    const failure = { status: 429, type: 'rate_limit_error', message: 'Slow down.', retryAfter: 7 }
    const { client, api } = await start(answering(failure))
    const error = await refusal(client.messages.create(ask))
    expect(error).toMatchObject({ status: 429, type: 'rate_limit_error', apiMessage: 'Slow down.' })
    expect(error.headers?.get('retry-after')).toBe('7')
    expect(error.requestID).toMatch(/^req_/)
    expect(error.error).toEqual(api.requests[0]?.answer)
  })

  it('as overloaded, which the SDK tries again', async () => {
    const { api } = await start(answering({ content: [], fault: { kind: 'error' } }))
    const patient = new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 1 })
    await patient.messages.create(ask)
    expect(api.requests.map(({ status }) => status)).toEqual([529, 200])
  })

  it.each([
    ['key', { 'anthropic-version': '2026-10-21' }, 401, 'authentication_error'],
    ['version', { 'x-api-key': 'key' }, 400, 'invalid_request_error'],
  ])('without a %s', async (_, headers: Record<string, string>, status, type) => {
    const { api } = await start()
    const asked = await fetch(`${api.url}/v1/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(ask),
    })
    expect(asked.status).toBe(status)
    expect(await asked.json()).toMatchObject({
      type: 'error',
      error: { type },
      request_id: expect.any(String),
    })
  })

  it('for a model or a path that it does not know, and for what is no JSON', async () => {
    const { client, api } = await start()
    expect(await refusal(client.messages.create(params([hello], { model: 'gpt' })))).toMatchObject({
      status: 404,
      type: 'not_found_error',
      apiMessage: 'model: gpt',
    })
    expect(await refusal(client.get('/v1/nothing'))).toMatchObject({ status: 404, type: 'not_found_error' })
    const headers = { 'x-api-key': 'key', 'anthropic-version': '2026-10-21' }
    const response = await fetch(`${api.url}/v1/messages`, { method: 'POST', headers, body: '{' })
    expect(response.status).toBe(400)
  })

  it.each([
    ['before any answer', { kind: 'drop' }],
    ['in the middle of the stream', { kind: 'drop', after: 4 }],
  ] as const)('by a connection that breaks %s', async (_, fault) => {
    const { client, api } = await start(answering({ ...everything, fault }, { ...everything, fault }))
    const events: string[] = []
    const stream = client.messages.stream(ask).on('streamEvent', ({ type }) => void events.push(type))
    await expect(stream.finalMessage()).rejects.toThrow(AnthropicError)
    // The fourth event is a ping, which the SDK leaves out.
    expect(events).toHaveLength('after' in fault ? 3 : 0)
    expect(api.requests[0]?.isComplete()).toBe(false)
    await expect(client.messages.create(ask)).rejects.toThrow(APIConnectionError)
  })

  it('by an error event inside the stream', async () => {
    const { client } = await start(answering({ ...everything, fault: { kind: 'error', after: 4 } }))
    const error = await refusal(client.messages.stream(ask).finalMessage())
    expect(error).toMatchObject({ status: undefined, type: 'overloaded_error' })
  })

  it('by a stream that ends without message_stop', async () => {
    const { client } = await start(answering({ ...everything, fault: { kind: 'end' } }))
    const types: string[] = []
    for await (const { type } of await client.messages.create({ ...ask, stream: true })) types.push(type)
    expect(types.at(-1)).toBe('message_delta')
  })

  it('by a stream in which nothing more comes, until the client goes', async () => {
    const { client } = await start(answering({ ...everything, fault: { kind: 'stall', after: 5 } }))
    const stream = client.messages.stream(ask)
    let seen = 0
    stream.on('streamEvent', () => {
      if (++seen === 4) stream.abort()
    })
    await expect(stream.finalMessage()).rejects.toThrow(APIUserAbortError)
  })

  it('by answering late', async () => {
    const { client, api } = await start(answering({ ...everything, delay: 5 }))
    const stream = client.messages.stream(ask)
    stream.on('streamEvent', ({ type }) => void (type === 'content_block_delta' && stream.abort()))
    await expect(stream.finalMessage()).rejects.toThrow(APIUserAbortError)
    expect(api.requests[0]?.isComplete()).toBe(false)
  })
})

describe('the stand-in keeps the limits of a model', () => {
  const models = { small: { contextWindow: 60, maxOutput: 50 } }
  const long = { content: [text('one two three four five six seven eight nine ten '.repeat(10))] }
  const small = (max_tokens: number, messages: Messages = [hello]): Params =>
    params(messages, { model: 'small', max_tokens })

  it('a request for as many output tokens as the model gives, and for no more', async () => {
    const { client } = await start()
    const limits = { 'claude-opus-5-5': 128_000, 'claude-sonnet-5-5': 128_000, 'claude-haiku-4-5': 64_000 }
    const request = (model: string, max_tokens: number) =>
      client.messages.stream(params([hello], { model, max_tokens })).finalMessage()
    for (const [model, most] of Object.entries(limits)) {
      expect(await request(model, most)).toMatchObject({ model })
      await expect(request(model, most + 1)).rejects.toThrow(
        `max_tokens: ${most + 1} > ${most}, which is the maximum allowed number`,
      )
    }
  })

  it('a reply ends where max_tokens are used up', async () => {
    const { client } = await start({ models, reply: () => long })
    const message = await client.messages.create(small(13))
    expect(message).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 13 } })
    expect(message.content).toEqual([text('one two three four five six seven eight nine ten ')])
    expect((await client.messages.create(small(0))).content).toEqual([])
  })

  it('and where the context window ends', async () => {
    const { client } = await start({ models, reply: () => long })
    const { usage, stop_reason } = await client.messages.create(small(50))
    expect(stop_reason).toBe('model_context_window_exceeded')
    expect(usage.input_tokens + usage.output_tokens).toBe(60)
  })

  it('a call that does not fit is left out', async () => {
    const { client } = await start({ models, reply: () => ({ content: [text('Well.'), toolUse('a')] }) })
    const { content, stop_reason } = await client.messages.create(small(6))
    expect({ content, stop_reason }).toEqual({ content: [text('Well.')], stop_reason: 'max_tokens' })
  })

  it('an input longer than the window is refused', async () => {
    const { client } = await start({ models })
    const messages = [asks(text('word '.repeat(100)))]
    const { input_tokens } = await client.messages.countTokens({ model: 'small', messages } as never)
    const { status, apiMessage } = await refusal(client.messages.create(small(10, messages)))
    expect(status).toBe(400)
    expect(apiMessage).toBe(`prompt is too long: ${input_tokens} tokens > 60 maximum`)
  })

  it('max_tokens beyond the limit are refused', async () => {
    const { client } = await start({ models })
    expect((await refusal(client.messages.create(small(51)))).apiMessage).toBe(
      'max_tokens: 51 > 50, which is the maximum allowed number of output tokens for small',
    )
  })

  it('a reply may lie about its usage', async () => {
    const { client } = await start({ reply: () => ({ ...long, usage: { output_tokens: 1 } }) })
    expect((await client.messages.stream(ask).finalMessage()).usage.output_tokens).toBe(1)
  })
})

describe('the prompt cache', () => {
  const models = { [opus]: { minCached: 100 } }
  const marked = (value: string, ttl = '5m'): Block => ({
    ...text(value),
    cache_control: { type: 'ephemeral', ttl },
  })
  const prompt = 'word '.repeat(200)
  const usageOf = async (client: Anthropic, asked: Params) => {
    const { usage } = await client.messages.create(asked)
    const { input_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage
    return { input: input_tokens, read: read ?? 0, written: written ?? 0 }
  }

  it('reads again what stood before a breakpoint, and writes what is new before the last one', async () => {
    const { client } = await start({ models })
    const first = [asks(marked(prompt))]
    const written = await usageOf(client, params(first))
    expect(written).toMatchObject({ read: 0, input: 7 })
    expect(await usageOf(client, params(first))).toEqual({ ...written, read: written.written, written: 0 })
    const second = [asks(text(prompt)), yes, asks(marked('Go on.'))]
    const next = await usageOf(client, params(second))
    expect(next.read).toBe(written.written)
    expect(next.written).toBeGreaterThan(0)
    expect((await usageOf(client, params(second))).read).toBe(next.read + next.written)
  })

  it('reads nothing behind a change of tools, system, messages or model', async () => {
    const { client } = await start({ models: { ...models, other: { minCached: 100 } } })
    const messages = [asks(marked(prompt))]
    await usageOf(client, params(messages, { system: 'One.' }))
    for (const changed of [
      { system: 'Two.' },
      { system: 'One.', tools: [{ name: 'run', input_schema: {} }] },
      { system: 'One.', model: 'other' },
    ])
      expect(await usageOf(client, params(messages, changed))).toMatchObject({ read: 0 })
    expect((await usageOf(client, params(messages, { system: 'One.' }))).read).toBeGreaterThan(0)
  })

  it('forgets after five minutes without use, or an hour', async () => {
    let time = 0
    const { client } = await start({ models, now: () => time })
    const minute = 60_000
    const short = params([asks(marked(prompt))])
    const long = params([asks(marked(prompt, '1h'), text('Once more.'))], { system: 'Another.' })
    await usageOf(client, short)
    const { usage } = await client.messages.create(long)
    expect(usage.cache_creation?.ephemeral_1h_input_tokens).toBe(usage.cache_creation_input_tokens)
    time += 4 * minute
    expect((await usageOf(client, short)).read).toBeGreaterThan(0)
    time += 4 * minute
    expect((await usageOf(client, short)).read).toBeGreaterThan(0)
    time += 5 * minute
    expect((await usageOf(client, short)).read).toBe(0)
    expect((await usageOf(client, long)).read).toBeGreaterThan(0)
    time += 60 * minute
    expect((await usageOf(client, long)).read).toBe(0)
  })

  it('keeps nothing that is too short, nor of a request that failed', async () => {
    const { client } = await start({
      models,
      ...answering({ status: 500, type: 'api_error', message: 'No.' }),
    })
    const asked = params([asks(marked(prompt))])
    await refusal(client.messages.create(asked))
    expect((await usageOf(client, asked)).read).toBe(0)
    expect(await usageOf(client, params([asks(marked('Hello.'))]))).toMatchObject({ read: 0, written: 0 })
  })

  it('is asked at the last block by cache_control of the whole request', async () => {
    const { client } = await start({ models })
    const asked = params([asks(text(prompt))], { cache_control: { type: 'ephemeral' } })
    expect((await usageOf(client, asked)).written).toBeGreaterThan(0)
    expect((await usageOf(client, asked)).read).toBeGreaterThan(0)
  })

  it('looks twenty blocks back from a breakpoint', async () => {
    const { client } = await start({ models })
    await usageOf(client, params([asks(marked(prompt))]))
    const after = (blocks: number): Params =>
      params([asks(text(prompt), ...Array.from({ length: blocks }, () => text('More.')), marked('End.'))])
    expect((await usageOf(client, after(20))).read).toBe(0)
    expect((await usageOf(client, after(19))).read).toBeGreaterThan(0)
  })
})

describe('the stand-in', () => {
  it('takes any key, or the one it was given, and says 401 to others', async () => {
    const { api, client } = await start({ apiKey: 'right' })
    const refused = await refusal(client.messages.create(ask))
    expect(refused).toMatchObject({ status: 401, type: 'authentication_error' })
    const asked = (credentials: { apiKey: string } | { authToken: string; apiKey: null }): Promise<unknown> =>
      new Anthropic({ baseURL: api.url, maxRetries: 0, ...credentials }).messages.create(ask)
    expect(await asked({ apiKey: 'right' })).toMatchObject({ type: 'message' })
    expect(await asked({ authToken: 'right', apiKey: null })).toMatchObject({ type: 'message' })
  })

  it.each(Object.entries(failures))('answers %s as the API does', async (_, failure) => {
    const { client } = await start(answering(failure))
    const { status, type } = await refusal(client.messages.create(ask))
    expect({ status, type }).toEqual({ status: failure.status, type: failure.type })
  })
})
