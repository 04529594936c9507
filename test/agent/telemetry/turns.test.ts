import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { afterEach, describe, expect, test } from 'vitest'
import { text } from '../../support/log.ts'
import { registered, type Telemetry } from '../../support/telemetry.ts'
import { scene, yes } from '../../support/turn-scene.ts'

const call = { type: 'tool_use', id: 't1', name: 'look', input: { place: 'the secret drawer' } }
const look = { name: 'look', input_schema: { type: 'object' } }

/** Those of palimpsest: the client makes its own. */
const ours = ({ spans }: Telemetry): readonly ReadableSpan[] =>
  spans().filter(({ instrumentationScope }) => instrumentationScope.name === 'palimpsest')
const named = (telemetry: Telemetry, name: string): readonly ReadableSpan[] =>
  ours(telemetry).filter((span) => span.name === name)
const parentOf = ({ parentSpanContext }: ReadableSpan): string | undefined => parentSpanContext?.spanId

describe('a turn, in a program that has registered OpenTelemetry', () => {
  test('is a span, with one inside for each call of the model, and for each call of a tool', async () => {
    const telemetry = registered()
    const { turn } = await scene([{ content: [call] }, yes])
    await turn({ tools: [look], run: { look: () => 'It is there.' }, parameters: { temperature: 0.5 } })
    const [whole] = named(telemetry, 'invoke_agent')
    expect(whole?.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-opus-5-5',
      'gen_ai.conversation.id': 'c',
      'palimpsest.turn.ended': 'stop',
    })
    const calls = named(telemetry, 'chat claude-opus-5-5')
    expect(calls.map(({ attributes }) => attributes)).toEqual(
      ['tool_use', 'end_turn'].map((reason) => ({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.conversation.id': 'c',
        'gen_ai.request.model': 'claude-opus-5-5',
        'gen_ai.request.max_tokens': 8_192,
        'gen_ai.request.temperature': 0.5,
        'gen_ai.response.id': expect.stringMatching(/^msg_/),
        'gen_ai.response.model': 'claude-opus-5-5',
        'gen_ai.response.finish_reasons': [reason],
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
        'gen_ai.usage.cache_read.input_tokens': expect.any(Number),
        'gen_ai.usage.cache_creation.input_tokens': expect.any(Number),
      })),
    )
    const tools = named(telemetry, 'execute_tool look')
    expect(tools.map(({ attributes }) => attributes)).toEqual([
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.conversation.id': 'c',
        'gen_ai.tool.name': 'look',
        'gen_ai.tool.call.id': 't1',
        'gen_ai.tool.type': 'function',
      },
    ])
    for (const span of [...calls, ...tools]) expect(parentOf(span)).toBe(whole?.spanContext().spanId)
    expect(calls.map(({ kind }) => kind)).toEqual([SpanKind.CLIENT, SpanKind.CLIENT])
    expect(ours(telemetry)).toHaveLength(4)
  })

  test('counts as input what was read from the prompt cache and written to it', async () => {
    const telemetry = registered()
    const usage = { input_tokens: 3, cache_read_input_tokens: 40, cache_creation_input_tokens: 500 }
    const { turn } = await scene([{ ...yes, usage: { ...usage, output_tokens: 7 } }])
    await turn()
    expect(named(telemetry, 'chat claude-opus-5-5')[0]?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 543,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cache_read.input_tokens': 40,
      'gen_ai.usage.cache_creation.input_tokens': 500,
    })
    expect(await telemetry.values('gen_ai.client.token.usage')).toMatchObject([
      { attributes: { 'gen_ai.token.type': 'input' }, value: { sum: 543 } },
      { attributes: { 'gen_ai.token.type': 'output' }, value: { sum: 7 } },
    ])
    expect(await telemetry.values('gen_ai.client.operation.duration')).toMatchObject([
      { value: { count: 1 } },
    ])
  })

  test('says what failed in a word, and nothing of its message: a call each time, and a tool', async () => {
    const telemetry = registered()
    const overloaded = {
      status: 529,
      type: 'overloaded_error',
      message: 'no secret drawer',
      retryAfter: 0.001,
    }
    const { turn } = await scene([overloaded, { content: [call] }, yes])
    const run = {
      look: () => {
        throw new RangeError('no secret drawer')
      },
    }
    await turn({ tools: [look], run })
    const failed = ours(telemetry).filter(({ status }) => status.code === SpanStatusCode.ERROR)
    expect(failed.map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['chat claude-opus-5-5', 'overloaded_error'],
      ['execute_tool look', 'RangeError'],
    ])
    expect(named(telemetry, 'chat claude-opus-5-5')).toHaveLength(3)
    const shown = ours(telemetry).map(({ attributes, status, events }) => ({ attributes, status, events }))
    expect(JSON.stringify(shown)).not.toContain('drawer')
  })

  test('ends with the tag of its error', async () => {
    const telemetry = registered()
    const { turn } = await scene([{ status: 400, type: 'invalid_request_error', message: 'no' }])
    await expect(turn()).rejects.toMatchObject({ _tag: 'ModelFailed' })
    const [whole] = named(telemetry, 'invoke_agent')
    expect(whole).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'ModelFailed', 'palimpsest.turn.ended': 'ModelFailed' },
    })
  })

  test('is inside of the span of the program that gives it, and what a tool traces is inside of the tool', async () => {
    const telemetry = registered()
    const { turn } = await scene([{ content: [call] }, yes])
    const tracer = trace.getTracer('program')
    const run = { look: () => tracer.startActiveSpan('reading', (span) => (span.end(), 'It is there.')) }
    const outer = await tracer.startActiveSpan('request', async (span) => {
      await turn({ tools: [look], run })
      span.end()
      return span.spanContext().spanId
    })
    expect(named(telemetry, 'invoke_agent').map(parentOf)).toEqual([outer])
    const [tool] = named(telemetry, 'execute_tool look')
    const reading = telemetry.spans().find(({ name }) => name === 'reading')
    expect(reading && parentOf(reading)).toBe(tool?.spanContext().spanId)
  })

  test('is given even if whoever listens to its spans throws', async () => {
    registered()
    const fail = (): never => {
      throw new Error('the collector is full')
    }
    trace.disable()
    const processor = { onStart: () => {}, onEnd: fail, forceFlush: fail, shutdown: fail }
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }))
    const { turn } = await scene([yes])
    expect(await turn()).toMatchObject({ ended: 'stop' })
    trace.disable()
    trace.setGlobalTracerProvider({ getTracer: fail })
    expect(await (await scene([yes])).turn()).toMatchObject({ ended: 'stop' })
  })

  test('that is aborted counts the call, and the tokens that it had come to', async () => {
    const telemetry = registered()
    const ends = new AbortController()
    const { turn } = await scene([
      { content: [text('A long story.')], usage: { input_tokens: 100 }, delay: 20 },
    ])
    const onEvent = ({ type }: { readonly type: string }): void => {
      if (type === 'content_block_delta') ends.abort()
    }
    await expect(turn({ signal: ends.signal, onEvent })).rejects.toMatchObject({ _tag: 'ModelAborted' })
    const [aborted] = named(telemetry, 'chat claude-opus-5-5')
    expect(aborted).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'error.type': 'ModelAborted', 'gen_ai.usage.input_tokens': 100 },
    })
    expect(await telemetry.values('palimpsest.calls.aborted')).toMatchObject([{ value: 1 }])
    const [wasted] = await telemetry.values('palimpsest.tokens.wasted')
    expect(Number(wasted?.value)).toBeGreaterThanOrEqual(100)
  })

  test('whose reply comes too late counts it, and its tokens', async () => {
    const telemetry = registered()
    const usage = { input_tokens: 30, cache_creation_input_tokens: 0, output_tokens: 4 }
    const { chat, turn } = await scene([
      async () => {
        await chat.append({ role: 'assistant', content: 'Somebody else was quicker.' })
        return { ...yes, usage }
      },
    ])
    await expect(turn()).rejects.toMatchObject({ _tag: 'StaleContext' })
    expect(await telemetry.values('palimpsest.replies.stale')).toMatchObject([{ value: 1 }])
    expect(await telemetry.values('palimpsest.tokens.wasted')).toMatchObject([{ value: 34 }])
    expect(named(telemetry, 'invoke_agent')[0]?.status.code).toBe(SpanStatusCode.UNSET)
  })
})

describe('content', () => {
  const variable = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'
  afterEach(() => void Reflect.deleteProperty(process.env, variable))

  test.each(['true', 'SPAN_ONLY', 'span_and_event'])('is in spans if it is asked for: %s', async (value) => {
    process.env[variable] = value
    const telemetry = registered()
    const { turn } = await scene([{ content: [call] }, yes])
    await turn({ system: 'Be brief.', tools: [look], run: { look: () => 'It is there.' } })
    const parsed = ({ attributes }: ReadableSpan, name: string): unknown =>
      JSON.parse(String(attributes[name]))
    const [, last] = named(telemetry, 'chat claude-opus-5-5')
    if (!last) throw new Error('there is no second call')
    expect(parsed(last, 'gen_ai.system_instructions')).toEqual([{ type: 'text', content: 'Be brief.' }])
    expect(parsed(last, 'gen_ai.input.messages')).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Is it there?' }] },
      { role: 'assistant', parts: [{ type: 'tool_call', id: 't1', name: 'look', arguments: call.input }] },
      { role: 'user', parts: [{ type: 'tool_call_response', id: 't1', response: expect.anything() }] },
    ])
    expect(parsed(last, 'gen_ai.output.messages')).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'Yes.' }], finish_reason: 'end_turn' },
    ])
    expect(named(telemetry, 'execute_tool look')[0]?.attributes).toMatchObject({
      'gen_ai.tool.call.arguments': JSON.stringify(call.input),
      'gen_ai.tool.call.result': expect.stringContaining('It is there.'),
    })
  })

  test.each(['false', 'EVENT_ONLY', ''])('is not in spans otherwise: %j', async (value) => {
    process.env[variable] = value
    const telemetry = registered()
    const { turn } = await scene([{ content: [call] }, yes])
    await turn({ system: 'Be brief.', tools: [look], run: { look: () => 'It is there.' } })
    const said = JSON.stringify(ours(telemetry).map(({ attributes }) => attributes))
    for (const words of ['Be brief', 'Is it there', 'It is there', 'Yes.', 'drawer'])
      expect(said).not.toContain(words)
  })
})
