import OpenAI, { APIConnectionError, APIError } from 'openai'
import { describe, expect, it } from 'vitest'
import { chatFailures } from '../../../src/testing/chat-completions/failures.ts'
import { type ChatCompletionsOptions, chatCompletions } from '../../../src/testing/chat-completions/server.ts'
import { atEnd } from '../../support/at-end.ts'

const started = async (options: ChatCompletionsOptions = {}) => {
  const api = await chatCompletions(options)
  atEnd(api.close)
  return { api, client: new OpenAI({ baseURL: api.url, apiKey: 'any', maxRetries: 0 }) }
}

const hello = { role: 'user', content: 'Hello.' }
const call = (id: string, made: object = {}) => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: '{}', ...made },
})
const calls = (...ids: readonly string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => call(id)),
})
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'Done.' })
const tool = (name: string, parameters: object = { type: 'object', properties: {} }) => ({
  type: 'function',
  function: { name, parameters },
})
const said = (content: unknown) => ({ messages: [{ role: 'user', content }] })

/** What is refused, with the parameter and the code of the error. */
const refused: readonly (readonly [string, object, string | null, string | null])[] = [
  ['no messages', { messages: [] }, 'messages', 'empty_array'],
  [
    'an unknown role',
    { messages: [{ role: 'function', content: 'x' }] },
    'messages[0].role',
    'invalid_value',
  ],
  ['an unknown field', { messages: [{ ...hello, tools: [] }] }, 'messages[0].tools', 'unknown_parameter'],
  ['an empty text', said(''), 'messages[0].content', 'empty_string'],
  ['no content', said(null), 'messages[0].content', 'invalid_type'],
  ['an empty list of parts', said([]), 'messages[0].content', 'empty_array'],
  ['an empty part', said([{ type: 'text', text: '' }]), 'messages[0].content[0].text', 'empty_string'],
  [
    'a part of another API',
    said([{ type: 'image', source: {} }]),
    'messages[0].content[0].type',
    'invalid_value',
  ],
  [
    'a picture of a system',
    {
      messages: [
        { role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://x.example' } }] },
        hello,
      ],
    },
    'messages[0].content[0].type',
    'invalid_value',
  ],
  [
    'data of no picture',
    said([{ type: 'image_url', image_url: { url: 'data:text/plain;base64,AAAA' } }]),
    'messages[0].content[0].image_url.url',
    'invalid_value',
  ],
  [
    'a file without a name',
    said([{ type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }]),
    'messages[0].content[0].file.filename',
    'missing_required_parameter',
  ],
  [
    'an assistant that says nothing',
    { messages: [hello, { role: 'assistant', content: null }] },
    'messages[1].content',
    'invalid_type',
  ],
  ['no calls in a list', { messages: [hello, calls()] }, 'messages[1].tool_calls', 'empty_array'],
  [
    'a call that is not answered',
    { messages: [hello, calls('a', 'b'), result('a')] },
    'messages.[1].role',
    null,
  ],
  [
    'a call that is answered late',
    { messages: [hello, calls('a'), hello, result('a')] },
    'messages.[1].role',
    null,
  ],
  ['a result without a call', { messages: [hello, result('a')] }, 'messages.[1].role', null],
  [
    'a result of another call',
    { messages: [hello, calls('a'), result('b')] },
    'messages.[2].tool_call_id',
    null,
  ],
  [
    'a second result',
    { messages: [hello, calls('a'), result('a'), result('a')] },
    'messages.[3].tool_call_id',
    null,
  ],
  [
    'an id twice in a message',
    { messages: [hello, calls('a', 'a'), result('a')] },
    'messages.[1].tool_calls',
    'duplicate_id',
  ],
  [
    'an id twice in a request',
    { messages: [hello, calls('a'), result('a'), calls('a'), result('a')] },
    'messages.[3].tool_calls',
    'duplicate_id',
  ],
  [
    'a long id',
    { messages: [hello, calls('x'.repeat(41)), result('x'.repeat(41))] },
    'messages[1].tool_calls[0].id',
    'string_above_max_length',
  ],
  [
    'a name that is none',
    { messages: [hello, { ...calls('a'), tool_calls: [call('a', { name: 'a.b' })] }, result('a')] },
    'messages[1].tool_calls[0].function.name',
    'invalid_value',
  ],
  [
    'arguments that are no text',
    { messages: [hello, { ...calls('a'), tool_calls: [call('a', { arguments: {} })] }, result('a')] },
    'messages[1].tool_calls[0].function.arguments',
    'invalid_type',
  ],
  ['no tools in a list', { tools: [] }, 'tools', 'empty_array'],
  [
    'too many tools',
    { tools: Array.from({ length: 129 }, (_, n) => tool(`t${n}`)) },
    'tools',
    'array_above_max_length',
  ],
  [
    'a tool of another API',
    { tools: [{ name: 'read', input_schema: {} }] },
    'tools[0].type',
    'invalid_value',
  ],
  ['a tool twice', { tools: [tool('a'), tool('a')] }, 'tools[1].function.name', 'invalid_value'],
  ['a long name of a tool', { tools: [tool('a'.repeat(65))] }, 'tools[0].function.name', 'invalid_value'],
  [
    'a schema that is of no object',
    { tools: [tool('a', { type: 'string' })] },
    'tools[0].function.parameters',
    'invalid_function_parameters',
  ],
  [
    'a schema without properties',
    { tools: [tool('a', { type: 'object' })] },
    'tools[0].function.parameters',
    'invalid_function_parameters',
  ],
  [
    'a list without items in a schema',
    { tools: [tool('a', { type: 'object', properties: { all: { type: 'array' } } })] },
    'tools[0].function.parameters',
    'invalid_function_parameters',
  ],
  ['a choice without tools', { tool_choice: 'none' }, 'tool_choice', null],
  ['parallel calls without tools', { parallel_tool_calls: true }, 'parallel_tool_calls', null],
  [
    'a choice of a tool that is not there',
    { tools: [tool('a')], tool_choice: { type: 'function', function: { name: 'b' } } },
    'tool_choice',
    'invalid_value',
  ],
  ['too many stops', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop', 'array_above_max_length'],
  ['max_tokens of a newer model', { max_tokens: 9 }, 'max_tokens', 'unsupported_parameter'],
  ['no room for a reply', { max_completion_tokens: 0 }, 'max_completion_tokens', 'invalid_value'],
  ['too large a reply', { max_completion_tokens: 999_999 }, 'max_completion_tokens', 'invalid_value'],
  ['a temperature out of range', { temperature: 3 }, 'temperature', 'invalid_value'],
  ['options of a stream without one', { stream_options: { include_usage: true } }, 'stream_options', null],
  ['a parameter of another API', { thinking: { type: 'adaptive' } }, 'thinking', 'unknown_parameter'],
  [
    'reasoning where there is none',
    { messages: [hello, { role: 'assistant', content: 'So.', reasoning_content: '' }] },
    'messages[1].reasoning_content',
    'unknown_parameter',
  ],
  [
    'calls without their reasoning where it is wanted',
    { model: 'compatible-reasoner', messages: [hello, calls('a'), result('a')] },
    null,
    null,
  ],
  [
    'a prompt that is too long',
    { model: 'small', messages: [{ role: 'user', content: 'word '.repeat(99) }] },
    'messages',
    'context_length_exceeded',
  ],
]

describe('the stand-in for Chat Completions', () => {
  it.each(refused)('refuses %s', async (_, change, param, code) => {
    const { api, client } = await started({ models: { small: { contextWindow: 50 } } })
    const body = { model: 'gpt-5.2', messages: [hello], ...change } as OpenAI.ChatCompletionCreateParams
    const error: unknown = await client.chat.completions.create(body).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(APIError)
    expect(error).toMatchObject({ status: 400, param, code, type: 'invalid_request_error' })
    expect(api.requests[0]).toMatchObject({ status: 400, body: { model: body.model } })
  })

  it.each([
    ['another key', 401, 'invalid_api_key', { apiKey: 'right' }, 'gpt-5.2'],
    ['another model', 404, 'model_not_found', {}, 'claude-opus-5-5'],
  ] as const)('refuses %s', async (_, status, code, options, model) => {
    const { client } = await started(options)
    const asked = client.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hi.' }] })
    await expect(asked).rejects.toMatchObject({ status, code })
  })

  it('answers in one piece and as a stream with the same reply and usage', async () => {
    const reply = {
      content: 'I read it. 😀 '.repeat(4),
      tool_calls: [{ name: 'read', arguments: { path: 'a.ts' } }],
    }
    const { client } = await started({ reply: () => reply })
    const asked = { model: 'gpt-5.2', messages: [{ role: 'user' as const, content: 'Read it.' }] }
    const whole = await client.chat.completions.create(asked)
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: reply.content,
        tool_calls: [{ type: 'function', function: { name: 'read', arguments: '{"path":"a.ts"}' } }],
      },
    })
    const streamed = client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } })
    const final = await streamed.finalChatCompletion()
    expect(final.choices[0]?.message.content).toBe(reply.content)
    expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { arguments: '{"path":"a.ts"}' },
    })
    expect(final.usage).toEqual(whole.usage)
  })

  it('cuts a reply at its limit, also inside of arguments', async () => {
    const { client } = await started({
      reply: () => ({ tool_calls: [{ name: 'read', arguments: { path: 'a b c d e f' } }] }),
    })
    const messages = [{ role: 'user' as const, content: 'Read it.' }]
    const whole = await client.chat.completions.create({
      model: 'gpt-5.2',
      messages,
      max_completion_tokens: 6,
    })
    expect(whole.choices[0]?.finish_reason).toBe('length')
    expect(whole.usage?.completion_tokens).toBe(6)
    const [made] = whole.choices[0]?.message.tool_calls ?? []
    expect(() => JSON.parse(made?.type === 'function' ? made.function.arguments : '{}') as unknown).toThrow(
      SyntaxError,
    )
  })

  it('bills the beginning that an earlier request had as cached, in steps of 128', async () => {
    const { client } = await started()
    const long = { role: 'user' as const, content: 'word '.repeat(2_000) }
    const ask = async (...messages: readonly { role: 'user'; content: string }[]) =>
      (await client.chat.completions.create({ model: 'gpt-5.2', messages: [...messages] })).usage
    const first = await ask(long)
    const second = await ask(long, { role: 'user', content: 'And?' })
    expect(first?.prompt_tokens_details?.cached_tokens).toBe(0)
    expect(second?.prompt_tokens_details?.cached_tokens).toBe(1_920)
    expect(second?.prompt_tokens).toBeGreaterThan(first?.prompt_tokens ?? Infinity)
  })

  it('fails as it is told to', async () => {
    const { client } = await started({
      reply: (_, n) =>
        [
          { ...chatFailures.rateLimited, retryAfter: 7 },
          { content: 'x', fault: { kind: 'drop' as const } },
          { content: 'x', fault: { kind: 'error' as const } },
        ][n] ?? chatFailures.broken,
    })
    const ask = async (): Promise<unknown> =>
      client.chat.completions
        .create({ model: 'gpt-5.2', messages: [{ role: 'user', content: 'Hi.' }] })
        .catch((error: unknown) => error)
    const limited = await ask()
    expect(limited).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(limited instanceof APIError && limited.headers?.get('retry-after')).toBe('7')
    expect(await ask()).toBeInstanceOf(APIConnectionError)
    expect(await ask()).toMatchObject({ status: 503 })
    expect(await ask()).toMatchObject({ status: 500 })
  })
})
