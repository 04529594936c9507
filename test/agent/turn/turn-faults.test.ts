import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { anthropicModel } from '../../../src/agent/models/anthropic/model.ts'
import { anthropicDialect } from '../../../src/agent/models/anthropic/dialect.ts'
import { failureOf as failureIn } from '../../../src/agent/models/streaming/failures.ts'
import { waitBefore } from '../../../src/agent/models/call-model.ts'
import type { Block } from '../../../src/events/blocks.ts'
import type { ModelError } from '../../../src/agent/models/model.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, toolUse } from '../../support/log.ts'
import { encodeEvent, eventsOf } from '../../../src/testing/messages-api/events.ts'
import type { ApiFailure, Fault, ApiMessage } from '../../../src/testing/messages-api/replies.ts'
import { scene, task, yes } from '../../support/turn-scene.ts'

const failureOf = (error: unknown, signal?: AbortSignal) => failureIn(error, signal, anthropicDialect)

const long = { content: [text('One two three four five six seven eight nine ten.')] }
const overloaded: ApiFailure = { status: 529, type: 'overloaded_error', message: 'Overloaded', retryAfter: 0 }
/** Longer than this process stands still on a busy machine, in milliseconds: what is not to stall must not. */
const stallTimeout = 1_500
/** The words of the model in the conversation. */
const replies = async ({ chat }: Awaited<ReturnType<typeof scene>>) =>
  (await chat.effective()).flatMap((item) =>
    item.kind === 'message' && item.role === 'assistant' ? [item.content] : [],
  )

afterEach(() => {
  vi.useRealTimers()
})

describe('a call that fails for a reason that may pass is made again', () => {
  it.each<readonly [string, Fault, string]>([
    ['stalls before its answer', { kind: 'stall' }, 'ModelStalled'],
    ['stalls in the middle', { kind: 'stall', after: 5 }, 'ModelStalled'],
    ['breaks off before its answer', { kind: 'drop' }, 'ModelFailed'],
    ['breaks off in the middle', { kind: 'drop', after: 5 }, 'ModelFailed'],
    ['ends in the middle as if it were complete', { kind: 'end', after: 5 }, 'ModelFailed'],
    ['is overloaded in the middle', { kind: 'error', after: 5 }, 'ModelFailed'],
  ])('one that %s, and nothing of it is kept', async (_, fault, error) => {
    const playing = await scene([{ ...long, fault }, yes])
    expect(await playing.turn({ stallTimeout, keepPartial: true })).toMatchObject({ calls: 1 })
    expect(playing.api.requests).toHaveLength(2)
    expect(playing.api.requests[1]?.body).toEqual(playing.api.requests[0]?.body)
    expect(await replies(playing)).toEqual([[text('Yes.')]])
    const [, reply] = await playing.chat.effective()
    expect(reply).toMatchObject({ origin: { failed: [{ error, message: expect.any(String) }] } })
    expect(await playing.chat.verifyReceipts()).toMatchObject({ receipts: 1, findings: [] })
  })

  it.each([408, 409, 429, 500, 503, 529])('one that is answered %i', async (status) => {
    const { turn, api, chat } = await scene([{ ...overloaded, status }, { ...overloaded, status }, yes])
    await turn()
    expect(api.requests.map((request) => request.status)).toEqual([status, status, 200])
    expect((await chat.effective())[1]).toMatchObject({
      origin: { failed: [{ error: 'ModelFailed', status, type: 'overloaded_error' }, { status }] },
    })
  })

  it('three times in all, then its error tells of every call', async () => {
    const { turn, api, chat } = await scene([overloaded])
    const error = await turn().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ _tag: 'ModelFailed', status: 529 })
    expect((error as { failed: unknown }).failed).toHaveLength(4)
    expect(api.requests).toHaveLength(4)
    expect(await chat.effective()).toHaveLength(1)
  })

  it('as often as asked, and never where the client would', async () => {
    const { turn, api } = await scene([overloaded])
    await expect(turn({ maxRetries: 0 })).rejects.toMatchObject({ failed: [{ status: 529 }] })
    expect(api.requests).toHaveLength(1)
  })

  it.each<readonly [string, ApiFailure]>([
    ['is wrong', { status: 400, type: 'invalid_request_error', message: 'No.' }],
    ['has a wrong key', { status: 401, type: 'authentication_error', message: 'No.' }],
    ['names no model', { status: 404, type: 'not_found_error', message: 'No.' }],
  ])('not one that %s', async (_, failure) => {
    const { turn, api } = await scene([failure])
    await expect(turn()).rejects.toMatchObject({ _tag: 'ModelFailed', retryable: false })
    expect(api.requests).toHaveLength(1)
  })

  it('not one whose listener throws', async () => {
    const { turn, api } = await scene([yes])
    const onEvent = (): void => {
      throw new Error('ui bug')
    }
    await expect(turn({ onEvent })).rejects.toThrow(/onEvent threw: Error: ui bug/)
    expect(api.requests).toHaveLength(1)
  })

  it('not one that a client without a key cannot make', async () => {
    const { chat, api } = await scene([yes])
    const client = new Anthropic({ baseURL: api.url, apiKey: null, authToken: null })
    await expect(chat.turn({ client, model: 'm' })).rejects.toMatchObject({
      retryable: false,
      message: expect.stringMatching(
        /^the model did not answer \(.*check the API key \(ANTHROPIC_API_KEY\)$/s,
      ) as string,
    })
    expect(api.requests).toEqual([])
  })

  it('not before the time that the API asks for, and an abort ends the wait', async () => {
    const controller = new AbortController()
    const { chat, client, api } = await scene([{ ...overloaded, status: 429, retryAfter: 3_600 }, yes])
    const turning = async (): Promise<void> => {
      for await (const { type } of chat.stream({
        client,
        model: 'claude-opus-5-5',
        signal: controller.signal,
      }))
        if (type === 'retrying') controller.abort()
    }
    await expect(turning()).rejects.toMatchObject({ _tag: 'ModelAborted', failed: [{ status: 429 }] })
    expect(api.requests).toHaveLength(1)
  })

  it('for a summary too, which tells of it', async () => {
    const { chat, turn } = await scene([
      { ...yes, fault: { kind: 'error', after: 3 } },
      overloaded,
      { content: [text('They talked.')] },
      yes,
    ])
    for (let turns = 0; turns < 12; turns++)
      await chat.append([
        { role: 'assistant', content: 'word '.repeat(100) },
        { role: 'user', content: 'word '.repeat(100) },
      ])
    await turn({ context: { window: 3_000, reserved: 500 }, parameters: { max_tokens: 500 } })
    const items = await chat.effective()
    expect(items.find(({ kind }) => kind === 'summary')).toMatchObject({
      origin: { failed: [{ error: 'ModelFailed', type: 'overloaded_error' }, { status: 529 }] },
    })
    expect(items.at(-1)).not.toHaveProperty('origin.failed')
  })

  it('of a Model of the caller’s, where it says so', async () => {
    const { turn, chat } = await scene([])
    let asked = 0
    const call = async () =>
      asked++ === 0
        ? E.left({ _tag: 'ModelFailed' as const, message: 'busy', retryable: true, retryAfter: 0 })
        : E.right({ content: [text('Yes.')], origin: {} })
    await turn({ client: { call, countTokens: async () => E.right(1) } })
    expect((await chat.effective())[1]).toMatchObject({ origin: { failed: [{ message: 'busy' }] } })
  })
})

describe('a reply that breaks off for good', () => {
  const stalled = { ...long, fault: { kind: 'stall', after: 6 } } as const

  it('is a ModelStalled where nothing more comes', async () => {
    const { turn, chat } = await scene([stalled])
    await expect(turn({ stallTimeout, maxRetries: 0 })).rejects.toMatchObject({
      _tag: 'ModelStalled',
      timeout: stallTimeout,
      usage: { output_tokens: 1 },
      failed: [{ error: 'ModelStalled', usage: { output_tokens: 1 } }],
    })
    expect(await chat.effective()).toHaveLength(1)
  })

  it.each<readonly [string, Fault['kind']]>([
    ['ModelStalled', 'stall'],
    ['ModelFailed', 'drop'],
    ['ModelFailed', 'error'],
  ])('is kept as far as it came if asked (%s after %s), and the conversation goes on', async (tag, kind) => {
    const playing = await scene([{ ...long, fault: { kind, after: 6 } }, yes])
    const { turn, chat, api } = playing
    await expect(turn({ stallTimeout, maxRetries: 0, keepPartial: true })).rejects.toMatchObject({
      _tag: tag,
      message: 'the reply broke off: the part of the reply received so far is recorded at position 2',
    })
    expect(await replies(playing)).toEqual([[text(expect.stringMatching(/^One two/) as string)]])
    await chat.append(task)
    await turn()
    expect(api.requests.map(({ status }) => status)).toEqual([200, 200])
  })

  it('tells of calls that failed before it in the same turn', async () => {
    const call = { ...toolUse('t'), id: undefined, name: 'read' }
    const { turn, chat } = await scene([overloaded, { content: [call] }, overloaded])
    const tools = [{ name: 'read', input_schema: { type: 'object' } }]
    await expect(turn({ tools, run: { read: () => 'x' }, maxRetries: 1 })).rejects.toMatchObject({
      failed: [{ status: 529 }, { status: 529 }],
    })
    expect((await chat.effective())[1]).toMatchObject({ origin: { failed: [{ status: 529 }] } })
  })
})

describe('pings are signs of life', () => {
  const message: ApiMessage = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [text('Yes.')],
    stop_reason: 'end_turn',
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens: 1,
      output_tokens: 1,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      service_tier: 'standard',
    },
  }
  const macrotasks = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done++) await new Promise((resolve) => void setImmediate(resolve))
  }

  /** A call whose stream comes piece by piece, each so many milliseconds after the one before. */
  const played = async (pieces: readonly string[], wait: number) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const encoder = new TextEncoder()
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    const response = new Response(readable, { headers: { 'content-type': 'text/event-stream' } })
    const client = new Anthropic({ apiKey: 'key', fetch: async () => response })
    const request = { model: 'm', messages: [], parameters: {} }
    const reply = anthropicModel(client).call(request)
    for (const piece of pieces) {
      await macrotasks(20)
      await vi.advanceTimersByTimeAsync(wait)
      writer.write(encoder.encode(piece)).catch(() => undefined)
    }
    writer.close().catch(() => undefined)
    await macrotasks(20)
    return reply
  }
  const [first = '', ...rest] = eventsOf(message).map(encodeEvent)
  const pings = Array.from({ length: 5 }, () => encodeEvent({ type: 'ping' }))

  it('a stream of them alone does not stall', async () => {
    expect(await played([first, ...pings, ...rest], 50_000)).toMatchObject({ _tag: 'Right' })
  })

  it('a stream of which something arrives while the process itself stands still does not stall', async () => {
    const timeout = 1_000
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(first)
      answer = response
    })
    let answer: ServerResponse | undefined
    await once(server.listen(0, '127.0.0.1'), 'listening')
    atEnd(() => server.close().closeAllConnections())
    const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const standStill = (): void => {
      answer?.end(rest.join(''))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.1 * timeout)
    }
    const onEvent = ({ type }: { readonly type: string }): void => {
      if (type === 'message_start') setImmediate(standStill)
    }
    const request = { model: 'm', messages: [], parameters: {} }
    const { call } = anthropicModel(new Anthropic({ apiKey: 'key', baseURL }))
    expect(await call(request, { stallTimeout: timeout, onEvent })).toMatchObject({ _tag: 'Right' })
  })

  it('a stream without any stalls after a minute', async () => {
    expect(await played([first, ...rest], 60_000)).toMatchObject({
      left: { _tag: 'ModelStalled', timeout: 60_000 },
    })
  })
})

describe('the time before a call is made again', () => {
  const refused = (headers: Record<string, string>): ModelError =>
    failureOf({ message: '', status: 429, headers: new Headers(headers) }, undefined)

  it.each<readonly [Record<string, string>, number]>([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '30', 'retry-after': '7' }, 30],
    [{ 'retry-after': new Date(0).toUTCString() }, 0],
    [{ 'retry-after': '99999999999' }, 2 ** 31 - 1],
  ])('is what the API asks for: %j', (headers, wait) => {
    expect(waitBefore(refused(headers), 0)).toBe(wait)
  })

  it.each([{}, { 'retry-after': 'soon' }])('doubles where it asks for none: %j', (headers) => {
    const waits = [0, 1, 2, 3, 4, 50].map((tries) => waitBefore(refused(headers), tries, 0))
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000])
    expect(waitBefore(refused(headers), 0, 1)).toBe(375)
  })

  it.each<readonly [string, object]>([
    ['true', { status: 400, headers: new Headers({ 'x-should-retry': 'true' }) }],
    ['false', { status: 529, headers: new Headers({ 'x-should-retry': 'false' }) }],
  ])('is none where the API says that it should not be: x-should-retry %s', (should, error) => {
    expect(failureOf(error, undefined)).toMatchObject({ retryable: should === 'true' })
  })
})

describe('a request is too long in the words of every host', () => {
  const mostLong = [
    'prompt is too long: 213462 tokens > 200000 maximum',
    'Prompt is too long',
    'Input is too long for requested model.',
    'The model returned the following errors: Input is too long for requested model.',
    'The model returned the following errors: too many total text bytes: 10000000 > 9000000',
    'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    "This model's maximum context length is 200000 tokens. However, your prompt resulted in 214850 tokens.",
    'request_too_large: Request exceeds the maximum size',
    'Your input exceeds the context window of this model',
  ]
  it.each(mostLong)('%s', (message) => {
    expect(failureOf({ message, status: 400, headers: new Headers() }, undefined)).toMatchObject({
      _tag: 'ContextExceeded',
    })
    expect(failureOf({ message, status: 429, headers: new Headers() }, undefined)._tag).toBe('ModelFailed')
  })

  it('whatever the words of a 413 are', () => {
    expect(failureOf({ message: 'No.', status: 413 }, undefined)._tag).toBe('ContextExceeded')
  })

  it.each([
    'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens',
    'Too many tokens, please wait before trying again.',
    'messages.0.content: Input should be a valid list',
    'The provided model identifier is invalid.',
  ])('and not in these: %s', (message) => {
    expect(failureOf({ message, status: 400 }, undefined)._tag).toBe('ModelFailed')
  })

  it('is condensed, and asked again', async () => {
    const failure = { status: 400, type: 'invalid_request_error', message: mostLong[2] ?? '' }
    const { chat, turn } = await scene([failure, yes])
    await chat.append([{ role: 'assistant', content: 'word '.repeat(100) }, task, task, task, task])
    expect(await turn({ summarizer: false })).toMatchObject({ calls: 2 })
    expect((await chat.effective()).at(-1)).toMatchObject({
      origin: { failed: [{ error: 'ContextExceeded' }] },
    })
  })
})

const calling = (id: string, name: string): Block => ({ ...toolUse(id), name })
const named = (name: unknown): Error => Object.assign(new Error('x'), { name })
const throws = (): never => {
  throw new Error('no')
}
/** A proxy that can be asked nothing any more. */
const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
const unreadable = new Blob(['a'])
unreadable.arrayBuffer = () => Promise.reject(named(Symbol('q')))
const used = new Response('a')
void used.text()

describe('what cannot be printed loses nothing of the calls beside it', () => {
  const run = async (bad: () => unknown) => {
    const { chat, turn } = await scene([{ content: [calling('a', 'pay'), calling('b', 'bad')] }, yes])
    const tools = ['pay', 'bad'].map((name) => ({ name, input_schema: { type: 'object' } }))
    await turn({ tools, run: { pay: () => 'paid', bad } })
    const results = (await chat.effective())[2]
    return results?.kind === 'message' ? results.content : []
  }
  it.each<readonly [string, unknown, string | RegExp]>([
    ['an error with a symbol as its name', named(Symbol('q')), 'Symbol(q): x'],
    [
      'an error whose name cannot be read',
      Object.defineProperty(new Error('x'), 'name', { get: throws }),
      /Error/,
    ],
    [
      'an error whose message cannot be read',
      Object.defineProperty(new Error(), 'message', { get: throws }),
      /Error/,
    ],
    ['a revoked proxy', revoked(), '<Revoked Proxy>'],
    ['an object that cannot be inspected', { a: 1, [inspect.custom]: throws }, /a: 1/],
    ['an object without a prototype', Object.create(null), '[Object: null prototype] {}'],
    ['a symbol', Symbol('q'), 'Symbol(q)'],
  ])('%s that is thrown', async (_, thrown, content) => {
    const [paid, bad] = await run(() => {
      throw thrown
    })
    expect(paid).toMatchObject({ content: 'paid' })
    expect(bad).toMatchObject({
      is_error: true,
      content: typeof content === 'string' ? content : (expect.stringMatching(content) as string),
    })
  })

  it.each<readonly [string, unknown]>([
    ['a blob that cannot be read', unreadable],
    ['an answer that was read before', used],
    ['an object that cannot be inspected', { a: 1n, [inspect.custom]: throws }],
    [
      'an object whose getters throw',
      Object.defineProperty(new Map(), 'type', { get: throws, enumerable: true }),
    ],
    ['an error whose message cannot be read', Object.defineProperty(new Error(), 'message', { get: throws })],
  ])('%s that is given back', async (_, given) => {
    const [paid, bad] = await run(() => given)
    expect(paid).toMatchObject({ content: 'paid' })
    expect(bad).toMatchObject({ type: 'tool_result', content: expect.any(String) as string })
  })

  it('and what has been carried out is told so', async () => {
    const [, bad] = await run(() => used)
    expect(bad).toMatchObject({
      is_error: true,
      content: expect.stringMatching(/^The call was carried out, but .*Body is unusable/) as string,
    })
  })

  it('and a listener may throw it too', async () => {
    const { turn } = await scene([yes])
    const onEvent = (): never => {
      throw named(Symbol('q'))
    }
    await expect(turn({ onEvent })).rejects.toMatchObject({
      _tag: 'ModelFailed',
      message: expect.stringContaining('onEvent threw: Symbol(q): x') as string,
    })
  })

  it('and what a tool gives back bit by bit is waited for no longer than the tool', async () => {
    const { chat, turn } = await scene([{ content: [calling('a', 'read')] }, yes])
    const tools = [{ name: 'read', input_schema: { type: 'object' } }]
    await turn({ tools, run: { read: () => new Response(new ReadableStream()) }, toolTimeout: 20 })
    expect((await chat.effective())[2]).toMatchObject({
      content: [{ is_error: true, content: expect.stringMatching(/longer than 20 ms/) as string }],
    })
  })
})
