import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../../src/api/open.ts'
import { run as ended } from '../../../src/result/fallible.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { TurnOptions } from '../../../src/agent/turn/options.ts'
import type { TurnError } from '../../../src/agent/turn/turn-result.ts'
import type { Clock } from '../../../src/agent/workers/peers/clock.ts'
import { listSteps } from '../../../src/agent/workers/peers/roster.ts'
import { createSayMethod } from '../../../src/agent/turn/say/say.ts'
import { createWorkRequester } from '../../../src/agent/workers/requests.ts'
import type { AttemptReport } from '../../../src/agent/workers/serving/shift.ts'
import { work } from '../../../src/agent/workers/serving/worker.ts'
import { right } from '../../support/either.ts'
import { scene } from '../../support/workers/scene.ts'
import { settingsWith } from '../../support/workers/settings.ts'

const actor = { kind: 'test' }
const speed = 100
/** An hour is over in 36 seconds. */
const quick: Clock = {
  now: () => performance.now() * speed,
  after: (ms, run) => {
    const timer = setTimeout(run, ms / speed)
    return () => clearTimeout(timer)
  },
}
const refused: TurnError = { _tag: 'ModelFailed', message: 'no' }

describe('a step whose agent returns options that are refused', () => {
  test.each([
    ['a misspelt option', { budgett: {} }, 'InvalidInput: budgett: is unknown: did you mean budget?'],
    [
      'a budget without prices',
      { model: 'm', budget: { usd: 1 } },
      'PriceMissing: a budget in usd needs the price',
    ],
    [
      'nothing',
      undefined,
      "InvalidInput: the agent's function returned nothing: return the options of a turn, such as { client, model }",
    ],
  ])('is free again, with the reason (%s), also if somebody listens', async (_, options, error) => {
    const { store, client, worker } = await scene()
    const own = options && { client, model: 'claude-opus-5-5', ...options }
    await store.conversation('c').append({ role: 'user', content: 'hello' }, { answer: true })
    for (const onEvent of [undefined, () => {}]) {
      const reported = Promise.withResolvers<AttemptReport>()
      const stop = worker({ turn: () => own as unknown as TurnOptions, onEvent, onStep: reported.resolve })
      expect(await reported.promise).toMatchObject({ outcome: 'free', error: expect.stringContaining(error) })
      await stop()
      await store.conversation('c').retry({ by: 'ann' })
    }
  })
})

describe('a step whose agent throws', () => {
  test('fails with the place in the program, and the cause of the error', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const { store, worker } = await scene()
    await store.conversation('c').append({ role: 'user', content: 'hello' }, { answer: true })
    const reported = Promise.withResolvers<AttemptReport>()
    const turn = async (): Promise<never> => {
      const cause: unknown = await fetch(`http://127.0.0.1:${port}`).catch((error: Error) => error.cause)
      throw new Error('no prices', { cause })
    }
    worker({ turn, onStep: reported.resolve })
    const { error } = await reported.promise
    expect(error).toMatch(
      /^AgentFailed: the agent threw Error: no prices \(cause: Error: connect ECONNREFUSED 127\.0\.0\.1:\d+\), at test\/agent\/workers\/parking\.test\.ts:\d+:\d+$/,
    )
  })
})

describe('a step whose attempts fail', () => {
  test('is parked after five, with every error, by whichever workers, until somebody unparks it', async () => {
    const store = memoryStore()
    const { conversation } = storeOn(store, actor)
    const chat = conversation('c')
    await chat.append({ role: 'user', content: 'hello' }, { answer: true })()
    const stop = new AbortController()
    let given = 0
    const give = () => {
      given++
      return Promise.resolve(E.left({ ...refused, message: `no ${given}` }))
    }
    const outcomes: string[] = []
    const settings = settingsWith({ give, onStep: ({ outcome }) => outcomes.push(outcome) })
    const workers = ['w1', 'w2'].map((worker) =>
      work(worker, settings, { store, actor, conversation, clock: quick }, stop.signal),
    )
    const parked = async () => {
      for (;;) {
        for await (const step of listSteps(store)) if (step.state === 'parked') return step
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    const step = await parked()
    expect(step).toMatchObject({ conversation: 'c', step: 'conversation@0' })
    expect(step.errors).toEqual([1, 2, 3, 4, 5].map((n) => `ModelFailed: no ${n}`))
    expect(given).toBe(5)
    expect(outcomes).toEqual(['failed', 'failed', 'failed', 'failed', 'parked'])
    await createWorkRequester(chat).retry({ by: 'ann' })()
    while (given === 5) await new Promise((resolve) => setTimeout(resolve, 5))
    expect((await parked()).errors).toHaveLength(5)
    expect(given).toBe(10)
    stop.abort()
    await Promise.all(workers)
  })

  test('is reported as parked by the worker that parks it, if the last worker has died', async () => {
    const store = memoryStore()
    const { conversation } = storeOn(store, actor)
    const chat = conversation('c')
    right(await chat.append({ role: 'user', content: 'hello' }, { answer: true })())
    const claims = [1, 2, 3, 4, 5].map((attempt) => {
      const data = { step: 'conversation@0', worker: `dead-${attempt}`, attempt, at: 0 }
      return { type: 'TurnClaimed', data } as const
    })
    right(await ended(chat.turnLog.append([{ type: 'TurnsBegun', data: { at: 0 } }, ...claims], -1)))
    const stop = new AbortController()
    const reported = Promise.withResolvers<AttemptReport>()
    const give = () => Promise.resolve(E.left(refused))
    const settings = settingsWith({ give, onStep: reported.resolve })
    const working = work('w', settings, { store, actor, conversation, clock: quick }, stop.signal)
    expect(await reported.promise).toEqual({
      conversation: 'c',
      attempt: 5,
      outcome: 'parked',
      ms: 0,
      error: 'dead-5 fell silent',
    })
    stop.abort()
    await working
  })

  test.each([true, undefined] as const)(
    'is open again once something is said, though that has to wait in the inbox (answer: %s)',
    async (answer) => {
      const store = memoryStore()
      const { conversation } = storeOn(store, actor)
      const chat = conversation('c')
      right(await chat.append({ role: 'user', content: 'hello' }, { answer: true })())
      const errors = ['no', 'no', 'no', 'no', 'no']
      const facts = [
        { type: 'TurnsBegun', data: { at: 0 } },
        { type: 'TurnParked', data: { step: 'conversation@0', attempts: 5, errors, at: 0 } },
      ] as const
      right(await ended(chat.turnLog.append(facts, -1)))
      expect(
        right(await createSayMethod(chat)({ role: 'user', content: 'Are you there?' }, { answer })()),
      ).toMatchObject({ status: 'queued' })
      const steps = []
      for await (const { state, errors: left } of listSteps(store)) steps.push({ state, left })
      expect(steps).toEqual([{ state: 'open', left: [] }])
    },
  )

  const broken = (): never => {
    throw new Error('no')
  }
  const misspelt = (): object => ({ modle: 'claude-opus-5-5' })

  test.each([
    ['is mended', broken, 'failed', 'AgentFailed: the agent threw Error: no', {}],
    ['still throws', broken, 'failed', 'AgentFailed: the agent threw Error: no', broken],
    ['still has invalid options', misspelt, 'free', 'InvalidInput: modle: is unknown', misspelt],
  ])('is given up by taking its message back, whether the agent %s, which is not called', async (...row) => {
    const [, before, outcome, error, after] = row
    let called = 0
    const { store, worker, calls, taken } = await scene()
    const chat = store.conversation('c')
    await chat.append({ role: 'user', content: 'hello' }, { answer: true })
    const stop = worker({}, before)
    for await (const { steps } of store.workers({ every: 5 })) if (steps[0]?.errors.length === 1) break
    await stop()
    expect(taken[0]).toMatchObject({ outcome, error: expect.stringContaining(error) })
    await chat.rewind({ turns: 1 })
    worker({}, () => {
      called++
      return typeof after === 'function' ? after() : after
    })
    for await (const { steps } of store.workers({ every: 5 })) if (steps.length === 0) break
    expect({ calls: calls(), called }).toEqual({ calls: 0, called: 0 })
  })
})
