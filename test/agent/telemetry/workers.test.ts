import Anthropic from '@anthropic-ai/sdk'
import { SpanStatusCode } from '@opentelemetry/api'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../../src/api/open.ts'
import type { TurnFact } from '../../../src/events/turn-events.ts'
import { openStore, type Conversation, type WorkerOptions } from '../../../src/index.ts'
import { run } from '../../../src/result/fallible.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import { messagesApi } from '../../../src/testing/messages-api/server.ts'
import { atEnd } from '../../support/at-end.ts'
import { text } from '../../support/log.ts'
import { registered } from '../../support/telemetry.ts'

/** Two workers on one store, until what it returns is called. */
const working = async (options: Partial<WorkerOptions<Conversation>> = {}) => {
  const api = await messagesApi({ reply: () => ({ content: [text('Yes.')] }) })
  const store = await openStore('memory:')
  atEnd(api.close, store.close)
  const client = new Anthropic({ baseURL: api.url, apiKey: 'key' })
  const ends = new AbortController()
  const workers = ['one', 'other'].map((name) =>
    store.worker({ name, turn: () => ({ client, model: 'claude-opus-5-5', maxRetries: 0 }), ...options }),
  )
  const done = Promise.all(workers.map((worker) => worker.run({ signal: ends.signal })))
  const stop = async (): Promise<void> => {
    ends.abort()
    await done
  }
  atEnd(stop)
  return { store, stop, ids: workers.map(({ id }) => id) }
}

describe('a worker, in a program that has registered OpenTelemetry', () => {
  test('makes each attempt at a step a trace of its own, with its turns inside, and counts its claims', async () => {
    const telemetry = registered()
    const { store, stop, ids } = await working()
    for (const id of ['a', 'b']) {
      const answer = { tenant: 'acme', priority: 2 }
      await store.conversation(id).append({ role: 'user', content: 'hello' }, { answer })
    }
    for await (const { steps } of store.workers({ every: 5 })) if (steps.length === 0) break
    await stop()
    const attempts = telemetry.spans().filter(({ name }) => name === 'palimpsest.attempt')
    expect(attempts.map(({ attributes }) => attributes)).toEqual(
      ['a', 'b'].map((conversation) => ({
        'gen_ai.conversation.id': conversation,
        'palimpsest.worker': expect.toSatisfy((worker: string) => ids.includes(worker)),
        'palimpsest.step': 'conversation@0',
        'palimpsest.attempt': 1,
        'palimpsest.tenant': 'acme',
        'palimpsest.priority': 2,
        'palimpsest.outcome': 'settled',
      })),
    )
    for (const attempt of attempts) {
      expect(attempt.parentSpanContext).toBeUndefined()
      const { traceId } = attempt.spanContext()
      const inside = telemetry.spans().filter((span) => span.spanContext().traceId === traceId)
      expect(inside.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['chat claude-opus-5-5', 'invoke_agent']),
      )
    }
    const [won] = await telemetry.values('palimpsest.claims.won')
    expect(won?.value).toBe(2)
  })

  test('counts a claim that comes too late', async () => {
    const telemetry = registered()
    const events = memoryStore()
    const { turnLog } = storeOn(events, { kind: 'test' }).conversation('a')
    const rival: TurnFact = {
      type: 'TurnClaimed',
      data: { step: 'conversation@0', worker: 'rival', attempt: 1, at: 0 },
    }
    let claims = 0
    const store = await openStore({
      ...events,
      append: (request) => async () => {
        const isClaim = request.events.some(({ type }) => type === 'TurnClaimed')
        if (isClaim && claims++ === 0) await run(turnLog.append([rival], 0))
        return events.append(request)()
      },
    })
    atEnd(store.close)
    await store.conversation('a').append({ role: 'user', content: 'hello' }, { answer: true })
    await run(turnLog.append([{ type: 'TurnsBegun', data: { at: 0 } }], -1))
    const ends = new AbortController()
    const done = store
      .worker({ turn: () => ({ client: {} as never, model: 'm' }) })
      .run({ signal: ends.signal })
    while ((await telemetry.values('palimpsest.claims.refused')).length === 0) await sleep(5)
    ends.abort()
    await done
    expect(await telemetry.values('palimpsest.claims.refused')).toMatchObject([{ value: 1 }])
    expect(await telemetry.values('palimpsest.claims.won')).toEqual([])
  })

  test('says of a failed attempt what kind of error it was', async () => {
    const telemetry = registered()
    const { store, stop } = await working({
      turn: () => {
        throw new Error('no such drawer')
      },
    })
    await store.conversation('a').append({ role: 'user', content: 'hello' }, { answer: true })
    for await (const { steps } of store.workers({ every: 5 })) if (steps[0]?.errors.length === 1) break
    await stop()
    const attempt = telemetry.spans().find(({ name }) => name === 'palimpsest.attempt')
    expect(attempt).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'palimpsest.outcome': 'failed', 'error.type': 'AgentFailed' },
    })
    expect(JSON.stringify(attempt?.attributes)).not.toContain('drawer')
  })

  test('has its meter read how many steps of each state there are, and how long the oldest open one has waited', async () => {
    const telemetry = registered()
    const given = Promise.withResolvers<never>()
    const { store } = await working({ slots: 1, grace: 0, turn: () => given.promise })
    atEnd(() => given.reject(new Error('over')))
    for (const id of ['a', 'b', 'c'])
      await store.conversation(id).append({ role: 'user', content: 'hello' }, { answer: true })
    const read = async (name: string): Promise<readonly number[]> => {
      const steps = await telemetry.values('palimpsest.steps')
      const own = steps.filter(({ attributes }) => attributes['palimpsest.worker.name'] === name)
      return ['open', 'claimed', 'waiting', 'parked'].map((state) =>
        Number(own.find(({ attributes }) => attributes['palimpsest.step.state'] === state)?.value),
      )
    }
    for (const name of ['one', 'other']) while (String(await read(name)) !== '1,2,0,0') await sleep(5)
    const ages = await telemetry.values('palimpsest.oldest_open_step.age')
    expect(ages.map(({ attributes }) => attributes)).toEqual(
      ['one', 'other'].map((name) => ({ 'palimpsest.worker.name': name })),
    )
    for (const { value } of ages) expect(value).toBeGreaterThanOrEqual(0)
  })
})
