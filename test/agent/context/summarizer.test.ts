import Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { anthropicModel } from '../../../src/agent/models/anthropic/model.ts'
import { digestIn } from '../../support/receipts.ts'
import {
  currentSummarizer,
  receiptsOfSummary,
  requestOfSummary,
  type SummaryOptions,
  summaryOptionsSchema,
} from '../../../src/agent/receipts/summary-request.ts'
import { summarizer, type SummarizerSettings } from '../../../src/agent/context/summary/summarizer.ts'
import type { Block } from '../../../src/events/blocks.ts'
import type { FailedCall } from '../../../src/agent/models/model.ts'
import { check } from '../../../src/events/check.ts'
import type { Event, Receipt } from '../../../src/events/events.ts'
import { effective, type Effective } from '../../../src/projections/effective.ts'
import type { Log } from '../../../src/projections/path.ts'
import { left, right } from '../../support/either.ts'
import { histories } from '../../support/histories.ts'
import { assistant, configured, logOf, text, thinking, toolResult, toolUse, user } from '../../support/log.ts'
import { opus, start } from '../../support/messages-api/client.ts'
import type { ApiFailure, ApiMessage, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../../src/testing/messages-api/request.ts'
import type { MessagesApiOptions } from '../../../src/testing/messages-api/server.ts'
import { runs, scale } from '../../support/runs.ts'

const settings: SummarizerSettings = { model: opus, window: 200_000 }
const hello = [user('Hello.'), assistant('Yes?'), user('Fix it.')]
const wholeOf = ({ items }: Effective) => ({
  first: items[0]?.position ?? 0,
  last: items.at(-1)?.position ?? 0,
})

/** A summary of everything, by the stand-in as it is told to answer, and what it was asked. */
const summarized = async (
  events: readonly Event[] | Log,
  more: Partial<SummarizerSettings> = {},
  { signal, ...options }: MessagesApiOptions & { readonly signal?: AbortSignal } = {},
) => {
  const { api, client } = await start({ reply: () => ({ content: [text('In short.')] }), ...options })
  const now = effective(logOf(...events))
  const asked = summarizer(anthropicModel(client), { ...settings, ...more })
  const answer = await asked({ effective: now, covers: wholeOf(now), ...(signal && { signal }) })
  return { answer, now, api, bodies: api.requests.flatMap(({ body }) => (body ? [body] : [])) }
}
const answering = (...replies: readonly (ApiReply | ApiFailure)[]) => ({
  reply: (_: ApiRequest, n: number) => replies[n] ?? { content: [text('In short.')] },
})
/** The digest of what the API received. */
const sentDigest = (now: Effective, { system, tools, messages }: Partial<ApiRequest> = {}): string =>
  digestIn(now, { system, tools, messages } as never)
const textIn = (body: ApiRequest | undefined): string => JSON.stringify(body?.messages)

describe('a summarizer', () => {
  it('answers with the texts of the reply, and where they came from', async () => {
    const content = [thinking('', 'Well.'), text('In short.'), text(' \n'), text('It works.')]
    const { answer, now, bodies, api } = await summarized(hello, {}, answering({ content }))
    const { blocks, origin } = right(answer)
    expect(blocks).toEqual([text('In short.'), text('It works.')])
    expect(origin).toMatchObject({
      model: opus,
      stopReason: 'end_turn',
      usage: { input_tokens: expect.any(Number) },
    })
    expect(bodies).toMatchObject([{ model: opus, max_tokens: 4_096, stream: true }])
    expect(origin.context).toEqual({
      position: 2,
      digest: digestIn(
        now,
        requestOfSummary(now, { summarizer: currentSummarizer, covers: { first: 0, last: 2 }, images: true }),
      ),
      options: {
        summarizer: currentSummarizer,
        keyed: true,
        covers: { first: 0, last: 2 },
        images: true,
        along: { model: opus, max_tokens: 4_096 },
      },
    })
    expect(api.requests).toHaveLength(1)
  })

  it('records the digest of what was sent', async () => {
    const tools = [{ name: 'run', input_schema: { type: 'object' } }]
    const events = [configured({ tools }), user('Do it.'), assistant([toolUse('a')]), user([toolResult('a')])]
    const { answer, now, bodies } = await summarized(events)
    expect(right(answer).origin.context?.digest).toBe(sentDigest(now, bodies[0]))
    expect(bodies).toMatchObject([{ tools, tool_choice: { type: 'none' } }])
  })

  it('asks with the instructions, the limit and the model it was given', async () => {
    const chosen = { model: 'claude-haiku-4-5', maxTokens: 77, instructions: 'In a word.', images: false }
    const { answer, bodies } = await summarized(
      [user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }])],
      chosen,
    )
    expect(right(answer).origin.context?.options).toMatchObject({ instructions: 'In a word.', images: false })
    expect(bodies).toMatchObject([{ model: 'claude-haiku-4-5', max_tokens: 77 }])
    expect(textIn(bodies[0])).toMatch(/Not shown: image.*In a word\./)
  })

  it('asks while a call waits for its result', async () => {
    const { answer, bodies } = await summarized([user('Do it.'), assistant([toolUse('a')])])
    expect(E.isRight(answer)).toBe(true)
    expect(bodies[0]).not.toHaveProperty('tools.1')
  })

  it('appends what is pinned word for word, whatever the model said', async () => {
    const pinned = ['  Fix *all* of it.\n', '', 'src/a.ts']
    const { answer } = await summarized(hello, { pinned })
    expect(right(answer).blocks).toEqual([text('In short.'), text('  Fix *all* of it.\n'), text('src/a.ts')])
    const byItems = await summarized(hello, {
      pinned: (items) => items.map(({ position }) => `at ${position}`),
    })
    expect(right(byItems.answer).blocks.slice(1)).toEqual([text('at 0'), text('at 1'), text('at 2')])
  })

  it.each<readonly [string, Partial<Record<keyof SummarizerSettings, unknown>>]>([
    ['window', { window: 4_552 }],
    ['window', { window: 0 }],
    ['model', { model: '' }],
    ['maxTokens', { maxTokens: 0.5 }],
    ['instructions', { instructions: ' ' }],
    ['deadline', { deadline: 0 }],
    ['deadline', { deadline: 2 ** 31 }],
    ['pinned', { pinned: 'text' }],
  ])('refuses a %s that cannot be: %o', async (path, wrong) => {
    const { answer, bodies } = await summarized(hello, wrong as Partial<SummarizerSettings>)
    expect(left(answer)).toMatchObject({ _tag: 'InvalidInput', path })
    expect(bodies).toEqual([])
  })
})

describe('a reply is no summary', () => {
  const said = [text('In sh')]
  it.each<readonly [string, ApiReply, string]>([
    ['that was cut off', { content: [text('word '.repeat(9_000))] }, 'max_tokens'],
    ['that refuses', { content: said, stop_reason: 'refusal' }, 'refusal'],
    ['that pauses', { content: said, stop_reason: 'pause_turn' }, 'pause_turn'],
    ['that calls a tool', { content: [...said, toolUse('a')] }, 'tool_use'],
    ['that is blank', { content: [text(' \n')] }, 'blank'],
    ['that is empty', { content: [] }, 'blank'],
  ])('%s', async (_, reply, reason) => {
    const { answer } = await summarized(hello, {}, answering(reply))
    expect(left(answer)).toMatchObject({
      _tag: 'SummaryFailed',
      reason,
      message: expect.stringContaining(':'),
    })
  })

  it('that fills the context window', async () => {
    const models = { small: { contextWindow: 500 } }
    const long: ApiReply = { content: [text('word '.repeat(600))] }
    const { answer } = await summarized(hello, { model: 'small' }, { models, ...answering(long) })
    expect(left(answer)).toMatchObject({ _tag: 'SummaryFailed', reason: 'model_context_window_exceeded' })
  })

  it.each([
    ['whose connection breaks', { kind: 'drop', after: 6 }],
    ['whose stream ends too early', { kind: 'end' }],
    ['that becomes an error', { kind: 'error', after: 5 }],
  ] as const)('%s', async (_, fault) => {
    const { answer } = await summarized(hello, { maxRetries: 0 }, answering({ content: said, fault }))
    expect(left(answer)._tag).toBe('ModelFailed')
  })

  it('that does not come, however often it is asked for', async () => {
    const { api } = await start(
      answering(
        ...Array.from({ length: 9 }, () => ({
          status: 529,
          type: 'overloaded_error',
          message: 'Overloaded',
          retryAfter: 0,
        })),
      ),
    )
    const model = anthropicModel(new Anthropic({ baseURL: api.url, apiKey: 'key', maxRetries: 5 }))
    const now = effective(logOf(...hello))
    const answer = await summarizer(model, { ...settings, maxRetries: 1 })({
      effective: now,
      covers: wholeOf(now),
    })
    expect(left(answer)).toMatchObject({ _tag: 'ModelFailed', status: 529 })
    expect(api.requests.map(({ status }) => status)).toEqual([529, 529])
  })

  const stalled = answering({ content: said, fault: { kind: 'stall', after: 3 } })
  it('that is aborted', async () => {
    const aborting = new AbortController()
    const reply = () => {
      setImmediate(() => aborting.abort())
      return { content: said, fault: { kind: 'stall', after: 3 } as const }
    }
    const { answer } = await summarized(hello, {}, { reply, signal: aborting.signal })
    expect(left(answer)._tag).toBe('ModelAborted')
  })

  it('that was never asked for', async () => {
    const { answer, bodies } = await summarized(hello, {}, { ...stalled, signal: AbortSignal.abort() })
    expect(left(answer)._tag).toBe('ModelAborted')
    expect(bodies).toEqual([])
  })

  it('that misses the deadline', async () => {
    const { answer } = await summarized(hello, { deadline: 30 }, stalled)
    expect(left(answer)._tag).toBe('ModelAborted')
  })
})

describe('what does not fit into a request', () => {
  const words = (word: string): string => `${word} `.repeat(400).trim()
  const numbered: MessagesApiOptions = {
    reply: ({ messages }: ApiRequest) => ({
      content: [text(`Summary of ${textIn({ messages } as ApiRequest).length}.`)],
    }),
  }
  const small = { window: 3_000, maxTokens: 300 }
  const rounds = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'].flatMap((word, n) => [
    user(`Task ${n}: ${words(word)}`),
    assistant([text('Well.'), toolUse(`call_${n}`)]),
    user([toolResult(`call_${n}`, words(word))]),
  ])

  it('is summarized in parts, each after the summary of those before it', async () => {
    const { answer, now, bodies } = await summarized(rounds, small, numbered)
    const { blocks, origin } = right(answer)
    expect(bodies.length).toBeGreaterThan(2)
    const options = origin.context?.options as SummaryOptions
    expect(options.parts).toHaveLength(bodies.length - 1)
    for (const [index, part] of (options.parts ?? []).entries())
      expect(textIn(bodies[index + 1])).toContain(`Summary of what was said before:\\n\\n${part.text}`)
    expect(blocks).toHaveLength(1)
    expect(options.covers).toEqual({ first: 0, last: 20 })
    // Every item is in just one request.
    for (let n = 0; n < 7; n++)
      expect(bodies.filter((body) => textIn(body).includes(`Task ${n}`))).toHaveLength(1)
    expect(origin.context?.digest).toBe(sentDigest(now, bodies.at(-1)))
    expect(origin.context?.digest).toBe(digestIn(now, requestOfSummary(now, options)))
  })

  it('has a receipt of every request that it took, whether or not its texts were cut', async () => {
    const huge = [user(words('first').repeat(20)), assistant('Well.'), ...rounds]
    for (const events of [rounds, huge]) {
      const { answer, now, bodies } = await summarized(events, small, numbered)
      const receipts = receiptsOfSummary(right(answer).origin.context as Receipt)
      expect(receipts.map(({ digest }) => digest)).toEqual(bodies.map((body) => sentDigest(now, body)))
      for (const { digest, options } of receipts)
        expect(digestIn(now, requestOfSummary(now, right(check(summaryOptionsSchema, options))))).toBe(digest)
    }
  })

  it('costs what all parts cost', async () => {
    const { answer, api } = await summarized(rounds, small, numbered)
    const used = api.requests.map(({ answer: message }) => (message as ApiMessage).usage.input_tokens)
    expect(used.length).toBeGreaterThan(1)
    expect(right(answer).origin.usage?.['input_tokens']).toBe(used.reduce((sum, one) => sum + one, 0))
    expect(right(answer).origin.usage).toMatchObject({ service_tier: 'standard' })
  })

  it('is divided by what the API counted of this conversation', async () => {
    const usage = (n: number) => ({
      requestId: `r${n}`,
      usage: { input_tokens: 3_000 * n, output_tokens: 1 },
    })
    const counted = rounds.map((event, n) =>
      event.type === 'MessageAppended' && event.data.role === 'assistant'
        ? { ...event, data: { ...event.data, origin: usage(n) } }
        : event,
    )
    const { bodies } = await summarized(rounds, small, numbered)
    expect((await summarized(counted, small, numbered)).bodies.length).toBeGreaterThan(bodies.length)
  })

  it('is no larger in later parts than what the API took of the first, and nothing is sent twice', async () => {
    const most = 4_500
    const tooLong: ApiFailure = { status: 400, type: 'invalid_request_error', message: 'prompt is too long' }
    const { answer, now, bodies, api } = await summarized(rounds, small, {
      reply: (body) => (textIn(body).length > most ? tooLong : { content: [text('In short.')] }),
    })
    expect(E.isRight(answer)).toBe(true)
    const statuses = api.requests.map(({ status }) => status)
    const firstTaken = statuses.indexOf(200)
    expect(firstTaken).toBeGreaterThan(0)
    expect(statuses.slice(firstTaken).length).toBeGreaterThan(2)
    expect(statuses.slice(firstTaken)).not.toContain(400)
    expect(new Set(bodies.map((body) => sentDigest(now, body))).size).toBe(bodies.length)
  })

  it('is cut between calls and results nowhere', async () => {
    const { bodies } = await summarized(rounds, small, numbered)
    expect(bodies.length).toBeGreaterThan(2)
    for (const body of bodies) expect(textIn(body)).not.toMatch(/No result was recorded|is_error/)
  })

  it('is shortened where one item alone is too long, in that request only', async () => {
    const long = `begin ${words('x').repeat(30)} end`
    const events = [user('Do it.'), assistant([toolUse('a')]), user([toolResult('a', long)]), user('Go on.')]
    const { answer, bodies } = await summarized(events, small, numbered)
    expect(E.isRight(answer)).toBe(true)
    const cut = bodies.filter((body) => textIn(body).includes('characters are left out here'))
    expect(cut).toHaveLength(1)
    expect(textIn(cut[0])).toMatch(/begin x.*characters are left out here.* end/)
  })

  it('is shown without pictures where they are too many', async () => {
    const picture: Block = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    const { answer, bodies } = await summarized(
      [user([text('Look.'), ...Array.from({ length: 20 }, () => picture)])],
      {
        window: 5_000,
        maxTokens: 300,
      },
    )
    expect(right(answer).origin.context?.options).toMatchObject({ images: false })
    expect(textIn(bodies[0])).toContain('Not shown: image, https://example.com/a.png')
  })

  it('cannot be summarized where nothing helps', async () => {
    const many = Array.from({ length: 500 }, (_, n) => text(`text ${n} of many that are short`))
    const { answer, bodies } = await summarized(
      [user('Hello.'), user(many)],
      { window: 2_000, maxTokens: 100 },
      numbered,
    )
    expect(left(answer)).toMatchObject({ _tag: 'SummaryFailed', reason: 'too_large' })
    expect(bodies.length).toBeLessThan(2)
  })

  it('by the count of the API is tried again with less, a few times', async () => {
    const tooLong = {
      status: 400,
      type: 'invalid_request_error',
      message: 'prompt is too long: 9 tokens > 8 maximum',
    }
    const exceeding = (times: number) => ({
      reply: (_: ApiRequest, n: number) => (n < times ? tooLong : { content: [text('In short.')] }),
    })
    const { answer, bodies } = await summarized(
      rounds.slice(0, 6),
      { window: 5_000, maxTokens: 300 },
      exceeding(3),
    )
    expect(E.isRight(answer)).toBe(true)
    const lengths = bodies.map((body) => textIn(body).length)
    expect(lengths[3]).toBeLessThan(lengths[0] ?? 0)
    const never = await summarized(rounds.slice(0, 6), { window: 5_000, maxTokens: 300 }, exceeding(99))
    expect(left(never.answer)._tag).toBe('ContextExceeded')
    expect(never.bodies).toHaveLength(4)
  })

  it('is smaller at each try than what was sent, however large the window was said to be', async () => {
    const models = { small: { contextWindow: 2_800 } }
    const { answer, bodies } = await summarized(rounds, { model: 'small', window: 1_000_000 }, { models })
    const lengths = bodies.map((body) => textIn(body).length)
    expect(E.isRight(answer)).toBe(true)
    expect(lengths[1]).toBeLessThan(0.8 * (lengths[0] ?? 0))
    expect(lengths[2]).toBeLessThan(0.8 * (lengths[1] ?? 0))
  })

  it('fails as a whole when one part fails', async () => {
    const { answer, bodies } = await summarized(
      rounds,
      small,
      answering({ content: [text('One.')] }, { content: [text('No.')], stop_reason: 'refusal' }),
    )
    expect(left(answer)).toMatchObject({ _tag: 'SummaryFailed', reason: 'refusal' })
    expect(bodies).toHaveLength(2)
  })

  it('tells each call that was paid for once, when one part fails', async () => {
    const { answer, api } = await summarized(
      rounds,
      small,
      answering({ content: [text('One.')] }, { content: [text('No.')], stop_reason: 'refusal' }),
    )
    const { failed = [] } = left(answer) as { readonly failed?: readonly FailedCall[] }
    const paid = api.requests.map(({ answer: message }) => (message as ApiMessage).usage.input_tokens)
    expect(failed).toHaveLength(2)
    expect(new Set(failed.map(({ usage }) => usage?.['input_tokens']))).toEqual(new Set(paid))
    expect(failed).toMatchObject([{ model: opus }, { model: opus }])
  })
})

describe('any history', () => {
  it('is summarized by requests that the API accepts, whatever the window is', async () => {
    const { api, client } = await start({ reply: () => ({ content: [text('In short.')] }) })
    const model = anthropicModel(client)
    const counts = { parts: 0, cut: 0, tooLarge: 0 }
    await fc.assert(
      fc.asyncProperty(
        histories(),
        fc.integer({ min: 600, max: 1_500 }),
        fc.nat(1_000),
        async (log, window, from) => {
          const now = effective(log)
          const { items } = now
          const first = items[from % Math.max(1, items.length)]?.position
          if (first === undefined) return
          api.forgetRequests()
          const asked = summarizer(model, { ...settings, window, maxTokens: 100 })
          const answer = await asked({
            effective: now,
            covers: { first, last: items.at(-1)?.position ?? first },
          })
          expect(
            api.requests.filter(({ status }) => status !== 200).map((request) => request.answer),
          ).toEqual([])
          if (E.isLeft(answer)) {
            expect(answer.left).toMatchObject({ _tag: 'SummaryFailed', reason: 'too_large' })
            counts.tooLarge++
            return
          }
          const { context } = answer.right.origin
          expect(context?.digest).toBe(sentDigest(now, api.requests.at(-1)?.body))
          const options = JSON.parse(JSON.stringify(context?.options)) as SummaryOptions
          expect(digestIn(now, requestOfSummary(now, options))).toBe(context?.digest)
          if (options.parts) counts.parts++
          if (options.longest) counts.cut++
        },
      ),
      { numRuns: runs(150) },
    )
    // One history in ten is summarized in parts: a small sample may have none.
    if (scale >= 1) expect(counts.parts).toBeGreaterThan(0)
  })
})
