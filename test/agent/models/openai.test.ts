import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { ModelError, ReplyEvent } from '../../../src/agent/models/model.ts'
import { chunkReader } from '../../../src/agent/models/openai/chunks.ts'
import { openAiDialect } from '../../../src/agent/models/openai/dialect.ts'
import { openAiModel } from '../../../src/agent/models/openai/model.ts'
import { usageOf } from '../../../src/agent/models/openai/usage.ts'
import { failureOf } from '../../../src/agent/models/streaming/failures.ts'
import { replyDraft } from '../../../src/agent/models/streaming/reply.ts'
import { refusalOf } from '../../../src/agent/context/policy/refusal.ts'
import { chatFailures } from '../../../src/testing/chat-completions/failures.ts'
import type { ChatFailure } from '../../../src/testing/chat-completions/body.ts'
import type { ChatReply } from '../../../src/testing/chat-completions/replies.ts'
import { chatCompletions } from '../../../src/testing/chat-completions/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { left, right } from '../../support/either.ts'

const delta = (fields: object, reason: string | null = null) => ({
  id: 'chatcmpl-1',
  model: 'm-2026',
  choices: [{ index: 0, delta: fields, finish_reason: reason }],
})
const call = (index: number | undefined, fields: object, made: object) =>
  delta({ tool_calls: [{ ...(index !== undefined && { index }), ...fields, function: made }] })

/** The reply of a stream of chunks, and the events that it was read as. */
const read = (...chunks: readonly object[]) => {
  const { eventsOf, ending } = chunkReader('p', (name) => name)
  const events: readonly ReplyEvent[] = [...chunks.flatMap(eventsOf), ...ending()]
  const draft = replyDraft('r')
  for (const event of events) draft.add(event)
  return { reply: draft.whole(), partial: draft.partial(), types: events.map(({ type }) => type) }
}

describe('the chunks of a stream', () => {
  it('are a reply once a reason came why it stopped; the tokens come after it', () => {
    const chunks = [
      delta({ role: 'assistant', content: '' }),
      delta({ content: 'He' }),
      delta({ content: 'llo' }),
    ]
    expect(read(...chunks).reply).toBeUndefined()
    expect(read(...chunks).partial?.content).toEqual([{ type: 'text', text: 'Hello' }])
    const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }
    const { reply } = read(...chunks, delta({}, 'stop'), { id: 'chatcmpl-1', choices: [], usage })
    expect(reply).toEqual({
      content: [{ type: 'text', text: 'Hello' }],
      origin: {
        model: 'm-2026',
        stopReason: 'end_turn',
        requestId: 'r',
        usage: {
          input_tokens: 9,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
          output_tokens: 2,
          ...usage,
        },
        message: { id: 'chatcmpl-1', endpoint: 'p' },
      },
    })
  })

  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
    ['eos', 'eos'],
    ['MAX_TOKENS', 'max_tokens'],
  ])('the reason %s is %s', (reason, expected) => {
    expect(read(delta({ content: 'So.' }), delta({}, reason)).reply?.origin.stopReason).toBe(expected)
  })

  it('calls are tool_use, also where an endpoint says that the reply just stopped', () => {
    const calls = [
      call(0, { id: 'a' }, { name: 'read', arguments: '' }),
      call(0, {}, { arguments: '{"x":' }),
      call(0, {}, { arguments: '1}' }),
      call(1, { id: 'b' }, { name: 'list', arguments: '' }),
    ]
    for (const reason of ['tool_calls', 'stop', 'function_call'])
      expect(read(...calls, delta({}, reason)).reply).toMatchObject({
        content: [
          { type: 'tool_use', id: 'a', name: 'read', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'list', input: {} },
        ],
        origin: { stopReason: 'tool_use' },
      })
  })

  it.each([
    ['the same index for each', 0, [{ id: 'a' }, { id: 'b' }]],
    ['no index', undefined, [{ id: 'a' }, { id: 'b' }]],
    ['no id', undefined, [{}, {}]],
  ] as const)('calls whole in one chunk are two calls, with %s', (what, index, ids) => {
    const places = what === 'no id' ? [0, 1] : [index, index]
    const chunks = ids.map((id, at) => call(places[at], id, { name: 'read', arguments: `{"n":${at}}` }))
    const uses = read(...chunks, delta({}, 'tool_calls')).reply?.content ?? []
    expect(uses.map(({ input }) => input)).toEqual([{ n: 0 }, { n: 1 }])
    expect(new Set(uses.map(({ id }) => id)).size).toBe(2)
    for (const { id } of uses) expect(id).toMatch(/^\w{1,40}$/)
  })

  it('a call whose name comes late begins with it; one without a name is no reply', () => {
    const late = [
      call(0, { id: 'a' }, { arguments: '{"x"' }),
      call(0, {}, { name: 'read', arguments: ':1}' }),
    ]
    expect(read(...late, delta({}, 'tool_calls')).reply?.content).toEqual([
      { type: 'tool_use', id: 'a', name: 'read', input: { x: 1 } },
    ])
    expect(() => read(call(0, { id: 'a' }, { arguments: '{}' }), delta({}, 'tool_calls'))).toThrow(
      'without a name',
    )
  })

  it.each([
    ['Gemini: the same index, and an empty id', { index: 0, id: '' }, { index: 0, id: '' }],
    ['the same index and id', { index: 0, id: 'call_0' }, { index: 0, id: 'call_0' }],
    ['the same id', { index: 0, id: 'call_0' }, { index: 1, id: 'call_0' }],
    ['the same id and no index', { id: 'call_0' }, { id: 'call_0' }],
    ['neither', {}, {}],
    ['a null index', { index: null }, { index: null }],
  ])('calls begin with a new name after whole arguments: %s', (_, one, other) => {
    const part = (place: object, made: object) => delta({ tool_calls: [{ ...place, function: made }] })
    for (const name of ['read', 'list']) {
      const whole = [
        part(one, { name: 'read', arguments: '{"n":0}' }),
        part(other, { name, arguments: '{"n":1}' }),
      ]
      const inParts = [
        part(one, { name: 'read', arguments: '' }),
        part(one, { arguments: '{"n":' }),
        part(one, { arguments: '0}' }),
        part(other, { name, arguments: '{"n"' }),
        part(other, { arguments: ':1}' }),
      ]
      for (const chunks of [whole, inParts]) {
        const uses = read(...chunks, delta({}, 'tool_calls')).reply?.content ?? []
        expect(uses).toMatchObject([
          { name: 'read', input: { n: 0 } },
          { name, input: { n: 1 } },
        ])
        expect(new Set(uses.map(({ id }) => id)).size).toBe(2)
      }
    }
  })

  it('a call without arguments is whole, too, and a name that is repeated begins no call', () => {
    const bare = (made: object) => call(0, {}, made)
    const two = [bare({ name: 'list', arguments: '' }), bare({ name: 'read', arguments: '{"n":1}' })]
    expect(read(...two, delta({}, 'stop')).reply?.content).toMatchObject([
      { name: 'list', input: {} },
      { name: 'read', input: { n: 1 } },
    ])
    const repeated = ['{"n"', ':1', '}', ''].map((json) => bare({ name: 'read', arguments: json }))
    expect(read(...repeated, delta({}, 'stop')).reply?.content).toMatchObject([
      { name: 'read', input: { n: 1 } },
    ])
  })

  it('parts that go on by the id alone, or by the index alone, belong to the call that has it', () => {
    const chunks = [
      call(0, { id: 'a' }, { name: 'read', arguments: '{"n"' }),
      call(undefined, { id: 'a' }, { arguments: ':1' }),
      call(0, {}, { arguments: '}' }),
      call(undefined, { id: 'b' }, { name: 'list', arguments: '{"n"' }),
      call(1, {}, { arguments: ':2}' }),
    ]
    expect(read(...chunks, delta({}, 'tool_calls')).reply?.content).toMatchObject([
      { id: 'a', input: { n: 1 } },
      { id: 'b', input: { n: 2 } },
    ])
  })

  it('an id that an earlier call of the conversation has is replaced', () => {
    const { eventsOf, ending } = chunkReader('p', (name) => name, new Set(['call_0']))
    const draft = replyDraft('r')
    const chunk = call(0, { id: 'call_0' }, { name: 'read', arguments: '{}' })
    for (const event of [...eventsOf(chunk), ...eventsOf(delta({}, 'stop')), ...ending()]) draft.add(event)
    expect(draft.whole()?.content[0]?.['id']).toMatch(/^call_\w{32}$/)
  })

  it.each([
    ['eos', '{"n":1}', 'tool_use'],
    ['tool_use', '', 'tool_use'],
    ['eos', '{"n":', 'eos'],
    ['error', '{"n":1}', 'error'],
    ['insufficient_system_resource', '{"n":1}', 'insufficient_system_resource'],
    ['length', '{"n":1}', 'max_tokens'],
    ['content_filter', '{"n":1}', 'refusal'],
  ])('beside a call, the reason %s is, after %s, %s', (reason, json, expected) => {
    const chunks = [call(0, { id: 'a' }, { name: 'read', arguments: json }), delta({}, reason)]
    expect(read(...chunks).reply?.origin.stopReason).toBe(expected)
  })

  it('an empty reason is none', () => {
    expect(read(delta({ content: 'So' }, ''), delta({ content: ' it' }, '')).reply).toBeUndefined()
    const whole = [delta({ content: 'So.' }, ''), delta({}, 'stop'), delta({}, '')]
    expect(read(...whole).reply?.origin.stopReason).toBe('end_turn')
  })

  it('content may be a list of parts', () => {
    const chunks = [
      delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm, ' }] }] }),
      delta({ content: [{ type: 'thinking', thinking: 'so.' }] }),
      delta({ content: [{ type: 'text', text: 'Yes' }, '.'] }),
      delta({ content: [{ type: 'reference', reference_ids: [3] }] }),
      delta({ content: [] }),
    ]
    expect(read(...chunks, delta({}, 'stop')).reply).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Hm, so.' },
        { type: 'text', text: 'Yes.' },
      ],
      origin: { message: { annotations: [{ type: 'reference', reference_ids: [3] }] } },
    })
  })

  it('broken arguments become the input as text', () => {
    const chunks = [call(0, { id: 'a' }, { name: 'read', arguments: '{"path": "a' }), delta({}, 'length')]
    expect(read(...chunks).reply).toMatchObject({
      content: [{ type: 'tool_use', input: '{"path": "a' }],
      origin: { stopReason: 'max_tokens' },
    })
  })

  it('reasoning comes first, under the name of its provider', () => {
    const chunks = [
      delta({ reasoning_content: 'Hm, ' }),
      delta({ reasoning_content: 'so.' }),
      delta({ content: 'Yes.' }),
    ]
    const { reply, types } = read(...chunks, delta({}, 'stop'))
    expect(reply?.content).toEqual([
      { type: 'thinking', thinking: 'Hm, so.', chat: { provider: 'p' } },
      { type: 'text', text: 'Yes.' },
    ])
    expect(types.filter((type) => type !== 'content_block_delta')).toEqual([
      'message_start',
      'content_block_start',
      'content_block_stop',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
  })

  it('reasoning under both of its names is told once, and an empty one hides nothing', () => {
    const both = delta({ reasoning_content: 'Hm.', reasoning: 'Hm.' })
    const other = delta({ reasoning_content: '', reasoning: ' So.' })
    expect(read(both, other, delta({}, 'stop')).reply?.content).toMatchObject([{ thinking: 'Hm. So.' }])
  })

  it('details of the reasoning are put together, and kept with it', () => {
    const detail = (text: string) => [{ type: 'reasoning.text', index: 0, text, format: 'x' }]
    const secret = [{ type: 'reasoning.encrypted', index: 1, data: 'abc' }]
    const { reply } = read(
      delta({ reasoning: 'Hm, ', reasoning_details: detail('Hm, ') }),
      delta({ reasoning: 'so.', reasoning_details: detail('so.') }),
      delta({ content: 'Yes.' }),
      delta({ reasoning_details: secret }),
      delta({}, 'stop'),
    )
    expect(reply?.content).toEqual([
      {
        type: 'thinking',
        thinking: 'Hm, so.',
        chat: { provider: 'p', details: [...detail('Hm, so.'), ...secret] },
      },
      { type: 'text', text: 'Yes.' },
    ])
  })

  it('thoughts that continue after a text are of the block whose details they continue, and each block stops once', () => {
    const { eventsOf, ending } = chunkReader('p', (name) => name)
    const details = [{ type: 'reasoning.text', index: 0, text: 'Hm. So.' }]
    const chunks = [
      delta({ reasoning: 'Hm.', reasoning_details: details }),
      delta({ content: 'Yes.' }),
      delta({ reasoning: ' So.' }),
      delta({ content: 'No.' }),
      delta({}, 'stop'),
    ]
    const events = [...chunks.flatMap(eventsOf), ...ending()]
    const ofType = (wanted: string) => events.flatMap(({ type, index }) => (type === wanted ? [index] : []))
    expect(ofType('content_block_start')).toEqual([0, 1, 2])
    expect(new Set(ofType('content_block_stop'))).toEqual(new Set([0, 1, 2]))
    expect(ofType('content_block_stop').length).toBe(3)
    expect(read(...chunks).reply?.content).toEqual([
      { type: 'thinking', thinking: 'Hm. So.', chat: { provider: 'p', details } },
      { type: 'text', text: 'Yes.' },
      { type: 'text', text: 'No.' },
    ])
  })

  it('a refusal is text, and the reason', () => {
    expect(read(delta({ refusal: 'I cannot.' }), delta({}, 'stop')).reply).toMatchObject({
      content: [{ type: 'text', text: 'I cannot.' }],
      origin: { stopReason: 'refusal' },
    })
  })

  it('a first chunk without a choice, and other choices than the first, say nothing', () => {
    const filtered = { id: '', model: '', choices: [], prompt_filter_results: [] }
    const other = { ...delta({}), choices: [{ index: 1, delta: { content: 'No.' }, finish_reason: null }] }
    expect(read(filtered, other, delta({ content: 'Yes.' }), delta({}, 'stop')).reply).toMatchObject({
      content: [{ type: 'text', text: 'Yes.' }],
      origin: { model: 'm-2026' },
    })
  })

  it('content that is no text is not left out silently', () => {
    expect(() => read(delta({ content: [{ type: 'audio' }] }))).toThrow('type audio')
  })
})

describe('usage', () => {
  it('has cached tokens beside the input, as the Messages API counts; the endpoint’s own counts stay', () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      total_tokens: 120,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 15 },
    }
    expect(usageOf(usage)).toEqual({
      input_tokens: 10,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
      output_tokens: 20,
      ...usage,
    })
    expect(usageOf({ prompt_tokens: 5, completion_tokens: 1, prompt_cache_hit_tokens: 4 })).toMatchObject({
      input_tokens: 1,
      cache_read_input_tokens: 4,
    })
    expect(usageOf(undefined)).toEqual({})
  })
})

const thrown = (told: object): ModelError => failureOf(told, undefined, openAiDialect)

describe('what endpoints say of a request that is too long', () => {
  it.each([
    [
      'OpenAI and Azure',
      { status: 400, code: 'context_length_exceeded' },
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      { tokens: 9_000, maximum: 8_192 },
    ],
    [
      'vLLM, DeepSeek and SGLang',
      { status: 400, type: 'BadRequestError' },
      "This model's maximum context length is 8,192 tokens. However, you requested 9,100 tokens (9,000 in the messages, 100 in the completion).",
      { tokens: 9_000, maximum: 8_192 },
    ],
    [
      'a newer vLLM',
      { status: 400, type: 'BadRequestError' },
      "This model's maximum context length is 8192 tokens and your request has 9000 input tokens.",
      { tokens: 9_000, maximum: 8_192 },
    ],
    [
      'llama.cpp',
      { status: 400, type: 'exceed_context_size_error' },
      'request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it',
      { tokens: 9_000, maximum: 8_192 },
    ],
    ['an older llama.cpp', { status: 500, type: 'exceed_context_size_error' }, 'too much', {}],
    ['Ollama', { status: 400 }, 'the input length exceeds the context length', {}],
    [
      'Groq',
      { status: 400, type: 'invalid_request_error' },
      'Please reduce the length of the messages or completion.',
      {},
    ],
    [
      'Groq, of a rate',
      { status: 413, type: 'tokens' },
      'Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 9000',
      {},
    ],
    [
      'OpenAI, of a rate',
      { status: 429, type: 'tokens', code: 'rate_limit_exceeded' },
      'Request too large for x on tokens per min (TPM): Limit 10000, Requested 20000.',
      {},
    ],
    [
      'Together',
      { status: 422 },
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`',
      { tokens: 9_000, maximum: 8_193 },
    ],
    [
      'OpenRouter',
      { status: 400, code: 400 },
      "This endpoint's maximum context length is 8192 tokens. However, you requested about 9500 tokens (9000 of text input, 500 in the output).",
      { tokens: 9_000, maximum: 8_192 },
    ],
    [
      'OpenAI, of the number of messages',
      { status: 400, code: 'array_above_max_length' },
      "Invalid 'messages': array too long. Expected an array with maximum length 2048.",
      {},
    ],
  ])('%s: ContextExceeded, with the counts that it names', (_, told, message, counts) => {
    const error = thrown({ ...told, message: `${told.status} ${message}` })
    expect(error._tag).toBe('ContextExceeded')
    expect(refusalOf(error)).toEqual(counts)
  })

  it('a plain rate limit, and any other invalid request, are not', () => {
    const rate = { status: 429, code: 'rate_limit_exceeded', message: 'Rate limit reached for x.' }
    expect(thrown(rate)).toMatchObject({ _tag: 'ModelFailed', retryable: true })
    const invalid = { status: 400, code: 'unknown_parameter', message: "Unknown parameter: 'x'." }
    expect(thrown(invalid)).toMatchObject({ _tag: 'ModelFailed', retryable: false })
  })
})

describe('whether a failed call is worth a retry', () => {
  it.each([
    ['a broken server', { status: 500 }, true],
    ['a model that loads', { status: 503 }, true],
    ['a rate', { status: 429 }, true],
    ['a quota that is used up', { status: 429, code: 'insufficient_quota' }, false],
    ['a wrong key', { status: 401 }, false],
    ['an error in the stream', { type: 'server_error', headers: new Headers() }, true],
    ['a status of the provider in the stream', { code: 502, headers: new Headers() }, true],
    ['a refusal of the provider in the stream', { code: 400, headers: new Headers() }, false],
    ['an invalid request in the stream', { type: 'invalid_request_error', headers: new Headers() }, false],
    ['a broken connection', { headers: undefined }, true],
  ])('%s', (_, told, retryable) => {
    expect(thrown({ ...told, message: 'no' })).toMatchObject({ _tag: 'ModelFailed', retryable })
  })
})

const asking = {
  model: 'gpt-5.2',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }],
  parameters: {},
} as const
const started = async (said: ChatReply | ChatFailure) => {
  const api = await chatCompletions({ reply: () => said })
  atEnd(api.close)
  return { api, client: new OpenAI({ baseURL: api.url, apiKey: 'any' }) }
}

describe('a call', () => {
  it('streams, asks for the usage, and keeps other stream options', async () => {
    const { api, client } = await started({ content: 'Hello.' })
    const parameters = { stream_options: { include_obfuscation: false } }
    const { origin } = right(await openAiModel(client).call({ ...asking, parameters }))
    expect(api.requests[0]?.body).toMatchObject({
      stream: true,
      stream_options: { include_obfuscation: false, include_usage: true },
    })
    const [{ answer } = { answer: {} }] = api.requests
    const { usage, id } = answer as { readonly usage: object; readonly id: string }
    expect(origin).toMatchObject({ model: 'gpt-5.2', usage, requestId: 'req_c00000000000000000000001' })
    expect(origin.message).toMatchObject({ id, endpoint: new URL(api.url).host, service_tier: 'default' })
  })

  it('calls a tool by the name that the caller gave it, whatever the API takes', async () => {
    const name = 'files.read/one'
    const { api, client } = await started({ content: 'So.' })
    const tools = [{ name, input_schema: { type: 'object' } }]
    right(await openAiModel(client).call({ ...asking, tools }))
    const sent = api.requests[0]?.body?.tools?.[0]?.function.name ?? ''
    expect(sent).toMatch(/^files_read_one_[\w-]{8}$/)
    const again = await started({ tool_calls: [{ name: sent }] })
    const { content } = right(await openAiModel(again.client).call({ ...asking, tools }))
    expect(content).toMatchObject([{ type: 'tool_use', name, input: {} }])
  })

  it('names the API’s error, its status, and the request’s id', async () => {
    const { client } = await started(chatFailures.noQuota)
    expect(left(await openAiModel(client).call(asking))).toMatchObject({
      _tag: 'ModelFailed',
      status: 429,
      type: 'insufficient_quota',
      requestId: 'req_c00000000000000000000001',
      retryable: false,
      message: expect.stringContaining('(429 insufficient_quota: You exceeded') as string,
    })
  })

  it('an error in the stream ends it', async () => {
    const { client } = await started({ content: 'Hello there.', fault: { kind: 'error', after: 2 } })
    expect(left(await openAiModel(client).call(asking))).toMatchObject({
      _tag: 'ModelFailed',
      retryable: true,
      partial: { content: [{ type: 'text', text: 'Hello there.' }] },
    })
  })
})
