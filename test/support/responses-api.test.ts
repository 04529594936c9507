import OpenAI, { APIError } from 'openai'
import type {
  ResponseCreateParamsNonStreaming,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import {
  chatFailures,
  responsesApi,
  type ResponsesApi,
  type ResponsesApiOptions,
} from '../../src/testing/index.ts'
import { atEnd } from './at-end.ts'

interface Scene {
  readonly api: ResponsesApi
  readonly client: OpenAI
}

const start = async (options: ResponsesApiOptions = {}): Promise<Scene> => {
  const api = await responsesApi(options)
  atEnd(() => api.close())
  return { api, client: new OpenAI({ baseURL: api.url, apiKey: 'any', maxRetries: 0 }) }
}

const hello = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello.' }] }
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'run', arguments: '{}' }
const result = { type: 'function_call_output', call_id: 'call_1', output: 'done' }
const custom = { type: 'custom_tool_call', call_id: 'call_2', name: 'patch', input: '*' }
const thought = { type: 'reasoning', id: 'rs_1', summary: [] }

const params = (input: unknown, more: object = {}): ResponseCreateParamsNonStreaming =>
  ({ model: 'gpt-5.2', store: false, input, ...more }) as ResponseCreateParamsNonStreaming

const refusal = async (
  given: object,
  { client }: Scene,
): Promise<{ readonly status: unknown; readonly error: unknown }> => {
  const failed: unknown = await client.responses.create(given as ResponseCreateParamsNonStreaming).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(failed instanceof APIError)) throw new Error(`not refused: ${String(failed)}`)
  return { status: failed.status, error: failed.error }
}

describe('the Responses API refuses', () => {
  const cases: readonly (readonly [string, object, string, string | null, number?])[] = [
    ['a request without a model', { input: 'Hi.' }, "Missing required parameter: 'model'.", 'model'],
    ['one without input', { model: 'gpt-5.2' }, "Missing required parameter: 'input'.", 'input'],
    ['an unknown model', params('Hi.', { model: 'x' }), "The requested model 'x' does not exist.", 'model'],
    ['an unknown parameter', params('Hi.', { messages: [] }), "Unknown parameter: 'messages'.", 'messages'],
    [
      'a call without its output',
      params([hello, call]),
      'No tool output found for function call call_1.',
      'input',
    ],
    [
      'an output without its call',
      params([hello, result]),
      'No tool call found for function call output with call_id call_1.',
      'input',
    ],
    [
      'an output before its call',
      params([result, call]),
      'No tool call found for function call output with call_id call_1.',
      'input',
    ],
    [
      'a custom call without its output',
      params([hello, custom]),
      'No tool output found for custom tool call call_2.',
      'input',
    ],
    [
      'text of a user in a reply',
      params([{ ...hello, role: 'assistant' }]),
      "Invalid value: 'input_text'. Supported values are: 'output_text', 'refusal'.",
      'input[0].content[0].type',
    ],
    [
      'a call without a name',
      params([{ ...call, name: undefined }]),
      "Missing required parameter: 'input[0].name'.",
      'input[0].name',
    ],
    [
      'an id of another kind',
      params([hello, { ...call, id: 'call_1' }, result]),
      "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
      'input[1].id',
    ],
    [
      'an item twice',
      params([hello, call, result, call, result]),
      'Duplicate item found with id fc_1. Remove duplicate items from your input and try again.',
      'input',
    ],
    [
      'reasoning that is not sealed',
      params([hello, thought, call, result]),
      "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
      'input',
      404,
    ],
    [
      'reasoning of another server',
      params([hello, { ...thought, encrypted_content: 'gAAAx.y' }, call, result]),
      'The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
      null,
    ],
    [
      'a response that is not stored',
      params('Hi.', { previous_response_id: 'resp_1' }),
      "Previous response with id 'resp_1' not found.",
      'previous_response_id',
    ],
    [
      'a tool whose name has a space',
      params('Hi.', { tools: [{ type: 'function', name: 'a b', parameters: {} }] }),
      "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
      'tools[0].name',
    ],
  ]
  it.each(
    cases.map(
      ([title, given, message, param, status = 400]) => [title, given, message, param, status] as const,
    ),
  )('%s', async (_, given, message, param, status) => {
    expect(await refusal(given, await start())).toMatchObject({
      status,
      error: { type: 'invalid_request_error', message, param },
    })
  })

  it('a prompt that is too long, another key, and another path', async () => {
    const scene = await start({ models: { small: 10 }, apiKey: 'any' })
    expect(await refusal(params('word '.repeat(20), { model: 'small' }), scene)).toMatchObject({
      error: { code: 'context_length_exceeded' },
    })
    const other = { ...scene, client: new OpenAI({ baseURL: scene.api.url, apiKey: 'other', maxRetries: 0 }) }
    expect(await refusal(params('Hi.'), other)).toMatchObject({ status: 401 })
    expect((await fetch(`${scene.api.url}/models`)).status).toBe(404)
  })
})

describe('the Responses API answers', () => {
  it('with text, and calls, whose outputs it then takes with its own reasoning', async () => {
    const { api, client } = await start({
      reply: (_, n) =>
        n === 0
          ? {
              reasoning: 'I look.',
              calls: [
                { name: 'run', arguments: { n: 1 } },
                { name: 'patch', input: '*' },
              ],
            }
          : { text: 'Done.' },
    })
    const more = { include: ['reasoning.encrypted_content'] }
    const first = await client.responses.create(params([hello], more))
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'function_call', 'custom_tool_call'])
    const outputs = first.output.flatMap((item) =>
      'call_id' in item ? [{ type: `${item.type}_output`, call_id: item.call_id, output: 'done' }] : [],
    )
    const second = await client.responses.create(params([hello, ...first.output, ...outputs], more))
    expect(second.output_text).toBe('Done.')
    expect(second.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? 0)
    // Without its reply, reasoning is refused.
    const lost = await refusal(params([hello, first.output[0], hello], more), { api, client })
    expect(JSON.stringify(lost)).toContain('without its required following item')
    expect(api.requests.map(({ status }) => status)).toEqual([200, 200, 400])
  })

  it('as a stream that the SDK puts together to the same response', async () => {
    const { api, client } = await start({
      reply: () => ({
        reasoning: 'I think so.',
        text: 'A text of several pieces.',
        calls: [{ name: 'run' }, { name: 'patch', input: '***' }],
      }),
    })
    const stream = client.responses.stream(params([hello]) as never)
    const events: ResponseStreamEvent[] = []
    for await (const event of stream as AsyncIterable<ResponseStreamEvent>) events.push(event)
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index))
    const { output } = await (
      stream as { finalResponse: () => Promise<{ output: readonly object[] }> }
    ).finalResponse()
    expect({ output }).toMatchObject({ output: api.requests[0]?.answer['output'] })
  })

  it('with a failure, or a stream that breaks', async () => {
    const replies = [
      chatFailures.overloaded,
      { text: 'lost', fault: 'drop' as const },
      { text: 'lost', fault: 'end' as const },
    ]
    const scene = await start({ reply: (_, n) => replies[n] ?? {} })
    expect(await refusal(params('Hi.'), scene)).toMatchObject({ status: 503 })
    for (const ends of ['rejects', 'resolves'] as const) {
      const stream = await scene.client.responses.create({ ...params('Hi.'), stream: true })
      const read = (async () => {
        const types: string[] = []
        for await (const { type } of stream) types.push(type)
        return types
      })()
      if (ends === 'rejects') await expect(read).rejects.toThrow('terminated')
      else expect(await read).toEqual(['response.created'])
    }
  })
})
