import { join } from 'node:path'
import type Anthropic from '@anthropic-ai/sdk'
import * as E from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  anthropicModel,
  isError,
  type Model,
  type ModelError,
  openStore,
  prices,
  pricesAsOf,
  type TurnOptions,
} from '../../../src/index.ts'
import type { Fault, ApiMessage, ApiReply } from '../../../src/testing/messages-api/replies.ts'
import type { ApiExchange } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { text, toolUse } from '../../support/log.ts'
import { runs } from '../../support/runs.ts'
import { temporaryFolder } from '../../support/stores.ts'
import { type Said, scene, task, yes } from '../../support/turn-scene.ts'

const tools = [{ name: 'read', input_schema: { type: 'object' } }]
const run = { read: () => 'its content' }
let calls = 0
const look = (more: Partial<ApiReply> = {}): ApiReply => ({
  content: [text('Let me look.'), { ...toolUse(`call-${++calls}`), name: 'read' }],
  ...more,
})
const failing = async (turn: Promise<unknown>): Promise<unknown> =>
  turn.then(
    () => undefined,
    (error: unknown) => error,
  )

const cheap = (): ApiReply => look({ usage: { input_tokens: 100, output_tokens: 50 } })

/** What the stand-in billed for these requests: of a broken stream, what the API had said by then. */
const billed = (requests: readonly ApiExchange[]) => {
  const sum = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }
  for (const { answer, isComplete } of requests) {
    if (!('stop_reason' in answer)) continue
    const { usage } = answer as ApiMessage
    sum.input += usage.input_tokens
    sum.cacheRead += usage.cache_read_input_tokens
    sum.cacheWrite += usage.cache_creation_input_tokens
    sum.output += isComplete() ? usage.output_tokens : 1
  }
  return sum
}

describe('a budget', () => {
  it.each<readonly [string, NonNullable<TurnOptions['budget']>, string]>([
    ['of calls', { calls: 2 }, 'calls'],
    ['of tokens', { tokens: 300 }, 'tokens'],
    ['in US dollars', { usd: 0.002 }, 'usd'],
  ])(
    '%s ends the turn once it is spent, with all that happened recorded; a message of the user begins a new one',
    async (_, budget, of) => {
      const { chat, turn, api } = await scene([cheap(), cheap(), yes])
      const error = await failing(turn({ tools, run, budget }))
      expect(error).toMatchObject({ _tag: 'BudgetSpent', conversation: 'c', of, budget, usage: { calls: 2 } })
      expect(isError(error, 'BudgetSpent') && error.usage).toMatchObject(billed(api.requests))
      expect((await chat.effective()).map(({ kind }) => kind)).toHaveLength(5)
      const before = await chat.position()
      await expect(turn({ tools, run, budget })).rejects.toMatchObject({ _tag: 'BudgetSpent', of })
      expect([await chat.position(), api.requests.length]).toEqual([before, 2])
      await chat.append({ role: 'user', content: 'Continue.' })
      expect(await turn({ tools, run, budget: { calls: 2 } })).toMatchObject({
        content: [text('Yes.')],
        usage: { calls: 1 },
      })
    },
  )

  it('is not renewed by another process, although the message that began the turn is hidden by then', async () => {
    const url = `sqlite:${join(temporaryFolder(), 'store.db')}`
    const { api, client } = await scene([look(), look(), look(), yes])
    const options = { client, model: 'claude-opus-5-5', tools, run, budget: { calls: 3 } }
    const open = async () => {
      const store = await openStore(url)
      atEnd(store.close)
      return store.conversation('d')
    }
    const first = await open()
    await first.append({ role: 'user', content: 'Hello.' })
    await first.append({ role: 'assistant', content: 'Hello.' })
    await first.append(task)
    await failing(first.turn({ ...options, maxCalls: 2 }))
    await first.truncate({ covers: { first: 2, last: 5 } })
    const second = await open()
    await expect(second.turn(options)).rejects.toMatchObject({ _tag: 'BudgetSpent', usage: { calls: 3 } })
    expect(api.requests).toHaveLength(3)
    const third = await open()
    expect(await third.turn({ ...options, budget: {} })).toMatchObject({
      calls: 1,
      usage: { ...billed(api.requests), calls: 4 },
    })
  })

  it('counts failed calls, and does not repeat a call once it is spent', async () => {
    const broken: Said = { content: [text('Never.')], fault: { kind: 'drop', after: 4 } }
    const { turn, api, chat } = await scene([broken])
    const error = await failing(turn({ budget: { calls: 2 }, keepPartial: true }))
    expect(error).toMatchObject({
      _tag: 'BudgetSpent',
      usage: { calls: 2 },
      failed: [{ error: 'ModelFailed' }],
    })
    expect(api.requests).toHaveLength(2)
    expect((await chat.effective()).at(-1)).toMatchObject({ role: 'assistant' })
  })

  it('in US dollars needs the price of every model: without it nothing is sent or written', async () => {
    const models = { other: {} }
    const { client, chat, api } = await scene([yes], { models })
    const options = { client, model: 'other', budget: { usd: 1 } }
    await expect(chat.turn(options)).rejects.toMatchObject({ _tag: 'PriceMissing', models: ['other'] })
    const named = { ...options, model: 'claude-opus-5-5' }
    await expect(chat.turn({ ...named, summarizer: { model: 'other' } })).rejects.toMatchObject({
      models: ['other'],
    })
    expect([await chat.position(), api.requests.length]).toEqual([0, 0])
    const rates = { input: 1, output: 2, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 }
    const { usage } = await chat.turn({ ...options, prices: { other: rates } })
    expect(usage.usd).toBeCloseTo((usage.input + 2 * usage.output) / 1e6, 12)
  })

  it.each(['calls', 'tokens', 'usd'])('of no %s is refused', async (of) => {
    const { turn } = await scene([yes])
    await expect(turn({ budget: { [of]: 0 } })).rejects.toMatchObject({
      _tag: 'InvalidInput',
      path: `budget.${of}`,
    })
  })
})

describe('prices', () => {
  it('have a day, and are found by a name with a date, too', async () => {
    expect(pricesAsOf).toMatch(/^\d{4}-\d\d-\d\d$/)
    expect(prices['claude-opus-5-5']).toEqual({
      input: 4,
      output: 20,
      cacheRead: 0.2,
      cacheWrite5m: 5,
      cacheWrite1h: 8,
    })
    const model = 'claude-haiku-4-5-20251001'
    const { chat, client } = await scene([yes], { models: { [model]: {} } })
    const { usage } = await chat.turn({ client, model })
    expect(usage.usd).toBeCloseTo((usage.input + 5 * usage.output) / 1e6, 12)
  })

  it('count what was written to the cache for an hour as that, and a long prompt at its own rates', async () => {
    const counted = (more: object): ApiReply => ({
      ...yes,
      usage: { input_tokens: 10, output_tokens: 100, ...more },
    })
    const written = counted({
      cache_read_input_tokens: 1_000,
      cache_creation_input_tokens: 500,
      cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 300 },
    })
    const long = counted({ cache_read_input_tokens: 100_000, cache_creation_input_tokens: 0 })
    const { chat, client } = await scene([written, long], { models: { 'claude-haiku-5-5': {} } })
    const { usage } = await chat.turn({ client, model: 'claude-opus-5-5' })
    expect(usage).toMatchObject({ cacheRead: 1_000, cacheWrite: 500 })
    expect(usage.usd).toBeCloseTo((10 * 4 + 1_000 * 0.2 + 200 * 5 + 300 * 8 + 100 * 20) / 1e6, 12)
    await chat.append(task)
    const haiku = await chat.turn({ client, model: 'claude-haiku-5-5' })
    expect(haiku.usage.usd).toBeCloseTo((10 * 0.5 + 100_000 * 0.05 + 100 * 2.5) / 1e6, 12)
  })
})

/** The same model, which is asked again at once. */
const hasty = (client: Anthropic): Model => {
  const model = anthropicModel(client)
  const call: Model['call'] = async (request, options) =>
    E.mapLeft((error: ModelError) => ({ ...error, retryAfter: 1 }))(await model.call(request, options))
  return { ...model, call }
}

const faults: fc.Arbitrary<Fault | 'overloaded'> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('drop' as const, 'error' as const),
    after: fc.integer({ min: 1, max: 6 }),
  }),
  fc.constant('overloaded' as const),
)

describe('what a turn came to', () => {
  it('has the parts of a summary that was not completed', async () => {
    let parts = 0
    const { api, chat, client } = await scene(
      [
        ({ system }) => {
          if (typeof system !== 'string' || !system.startsWith('You summarize')) return yes
          if (++parts > 1) return { status: 500, type: 'api_error', message: 'Internal server error' }
          return { content: [text('In short.')] }
        },
      ],
      { models: { tiny: { contextWindow: 900 } } },
    )
    for (let n = 0; n < 6; n++)
      await chat.append([
        { role: 'assistant', content: 'It begins in line 80, and is not closed there. '.repeat(20) },
        { role: 'user', content: 'And in the rest of the file? '.repeat(20) },
      ])
    await chat.append([{ role: 'assistant', content: 'No.' }, task])
    const turned = await chat.turn({
      client,
      model: 'claude-opus-5-5',
      context: { window: 2_000, reserved: 100 },
      summarizer: { model: 'tiny', window: 900, maxTokens: 60, maxRetries: 0 },
    })
    expect([parts, turned.condensed, turned.truncated > 0]).toEqual([2, 0, true])
    expect(turned.usage).toMatchObject({ ...billed(api.requests), calls: 3 })
    expect(turned.usage.models['tiny']).toMatchObject({ ...billed(api.requests.slice(0, 1)), calls: 2 })
  })

  it('is what the API billed since the user’s message, whoever gave the turn, with every failure and summary', async () => {
    let summaries = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(faults, { freq: 3 }), { minLength: 3, maxLength: 14 }),
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (plan, restarts, isSmall) => {
          const replies = plan.map((fault): Said => {
            if (fault === 'overloaded')
              return { status: 529, type: 'overloaded_error', message: 'Overloaded', retryAfter: 0.001 }
            const { content } = look()
            const words = [text('Let me look at the rest of it, too. '.repeat(40)), ...content.slice(1)]
            return { content: words, ...(fault && { fault }) }
          })
          const waiting = [...replies]
          const { api, client, chat } = await scene(
            [
              ({ system }) =>
                typeof system === 'string' && system.startsWith('You summarize')
                  ? { content: [text('In short.')] }
                  : ((waiting.shift() as ApiReply) ?? yes),
            ],
            { models: { small: { minCached: 20 } } },
          )
          await chat.append({ role: 'assistant', content: 'Yes.' })
          await chat.append(task)
          const costs = { small: { input: 1, output: 2, cacheRead: 3, cacheWrite5m: 4, cacheWrite1h: 5 } }
          const options = {
            client: hasty(client),
            model: 'small',
            tools,
            run,
            prices: costs,
            parameters: { max_tokens: 600 },
            context: { window: isSmall ? 2_500 : 100_000, keepLast: 1 },
            maxRetries: 20,
          }
          for (const maxCalls of restarts)
            if ((await failing(chat.turn({ ...options, maxCalls }))) === undefined) return
          const turned = await chat.turn(options)
          const { usd, models, calls: count, ...sum } = turned.usage
          expect(sum).toEqual(billed(api.requests))
          const { input, output, cacheRead, cacheWrite } = sum
          expect(usd).toBeCloseTo((input + 2 * output + 3 * cacheRead + 4 * cacheWrite) / 1e6, 9)
          expect(models).toEqual({ small: { ...sum, usd, calls: count } })
          expect(count).toBe(api.requests.length)
          expect(turned.retried).toBe(plan.filter((fault) => fault !== null).length)
          summaries += turned.condensed
        },
      ),
      // A run with a summary, whatever the seed is.
      { numRuns: runs(12), examples: [[Array<null>(12).fill(null), [2], true]] },
    )
    expect(summaries).toBeGreaterThan(0)
  })
})
