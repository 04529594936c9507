import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isError } from '../../../src/index.ts'
import { text } from '../../support/log.ts'
import { ask, roles, scene, steps, until } from '../../support/workers/scene.ts'

const usage = { input_tokens: 1_000_000, output_tokens: 0 }

describe('workers with a policy', () => {
  test('never have more steps of a tenant in progress than its limit, although each claims by itself', async () => {
    let calls = 0
    let most = 0
    // The first call lasts until another has begun, however slow the store is.
    const other = Promise.withResolvers<void>()
    const { store, worker, taken } = await scene(async () => {
      most = Math.max(most, ++calls)
      if (calls > 1) other.resolve()
      await other.promise
      await sleep(5)
      calls--
      return { content: [text('Yes.')] }
    })
    const policy = { tenants: { acme: { limit: 2 } } }
    const chats = Array.from({ length: 24 }, (_, n) => store.conversation(`c${n}`))
    for (const chat of chats) await chat.append(ask, { answer: { tenant: 'acme' } })
    for (let n = 0; n < 4; n++) worker({ policy })
    await until(async () => (await steps(store)).length === 0)
    expect(most).toBe(2)
    expect(taken.filter(({ outcome }) => outcome === 'settled')).toHaveLength(24)
  })

  test('begin the one step of a tenant with the next slot that is free, beside hundreds of another', async () => {
    const gates: (() => void)[] = []
    const called: string[] = []
    const { store, worker } = await scene(async ({ system }) => {
      called.push(JSON.stringify(system).includes('one') ? 'one' : 'big')
      await new Promise<void>((resolve) => gates.push(resolve))
      return { content: [text('Yes.')] }
    })
    for (let n = 0; n < 200; n++)
      await store.conversation(`big${n}`).append(ask, { answer: { tenant: 'big' } })
    for (let n = 0; n < 2; n++) worker({ grace: 0 }, ({ id }) => ({ system: id }))
    await until(() => called.length === 16)
    await store.conversation('one').append(ask, { answer: { tenant: 'one' } })
    gates.shift()?.()
    await until(() => called.length === 17)
    expect(called.at(-1)).toBe('one')
  })

  test('leave the steps of a tenant open once its budget is spent, listed as such, and lose none', async () => {
    const { store, worker, calls } = await scene(() => ({ content: [text('Yes.')], usage }))
    const policy = { tenants: { acme: { budget: { usd: 4, per: 'month' as const } } } }
    for (const id of ['a', 'b', 'c']) await store.conversation(id).append(ask, { answer: { tenant: 'acme' } })
    const stop = worker({ policy, slots: 1 })
    await until(async () => calls() === 1 && (await steps(store)).length === 2)
    await store.conversation('d').append(ask, { answer: true })
    await until(async () => (await roles(store.conversation('d'))).length === 2)
    expect(await steps(store, { policy })).toMatchObject([
      {
        conversation: 'b',
        state: 'open',
        held: 'budget',
        heldUntil: expect.stringMatching(/T00:00:00\.000Z$/) as string,
      },
      { conversation: 'c', state: 'open', held: 'budget' },
    ])
    expect((await steps(store))[0]).not.toHaveProperty('held')
    await stop()
    worker({ policy: { tenants: { acme: { budget: { usd: 40, per: 'month' } } } } })
    await until(async () => (await steps(store)).length === 0)
    expect(calls()).toBe(4)
  })

  test('refuse a policy that is wrong, and say where', async () => {
    const { store, client } = await scene()
    const turn = () => ({ client, model: 'claude-opus-5-5' })
    expect(() => store.worker({ turn, policy: { tenants: { acme: { limit: 0 } } } })).toThrow(
      expect.objectContaining({ _tag: 'InvalidInput', path: 'policy.tenants.acme.limit' }),
    )
    const listed = steps(store, { policy: { default: { weight: 0 } } })
    await expect(listed).rejects.toMatchObject({ _tag: 'InvalidInput', path: 'policy.default.weight' })
  })
})

describe('a paused conversation', () => {
  test('is left alone by workers, and by nobody else, until it is resumed', async () => {
    const { store, client, worker, calls } = await scene()
    worker()
    const chat = store.conversation('c')
    await chat.append(ask)
    await chat.pause({ by: 'ann', reason: 'to be looked at' })
    await chat.request()
    await store.conversation('other').append(ask, { answer: true })
    await until(async () => (await roles(store.conversation('other'))).length === 2)
    expect(await steps(store)).toMatchObject([{ conversation: 'c', state: 'open', held: 'paused' }])
    await chat.append(ask, { answer: true })
    await chat.rewind({ turns: 1 })
    await chat.turn({ client, model: 'claude-opus-5-5' })
    expect(calls()).toBe(2)
    await chat.append(ask, { answer: true })
    await store.conversation('other').append(ask, { answer: true })
    await until(async () => (await roles(store.conversation('other'))).length === 4)
    expect(calls()).toBe(3)
    await chat.resume({ by: 'ann' })
    await until(async () => (await steps(store)).length === 0)
    expect(calls()).toBe(4)
  })
})

describe('a paused worker', () => {
  test('takes no step until it is resumed, and others do not wait for it', async () => {
    const { store, worker, calls } = await scene()
    const stop = worker()
    const listed = async () => {
      for await (const { workers } of store.workers()) return workers
      return []
    }
    await until(async () => (await listed()).length === 1)
    const [{ worker: id } = { worker: '' }] = await listed()
    await store.pauseWorker(id, { by: 'ann' })
    expect(await listed()).toMatchObject([{ worker: id, paused: true }])
    const chat = store.conversation('c')
    await chat.append(ask, { answer: true })
    await sleep(100)
    expect(calls()).toBe(0)
    await store.resumeWorker(id, { by: 'ann' })
    await until(async () => (await roles(chat)).length === 2)
    expect(await listed()).toMatchObject([{ worker: id, paused: false }])
    await stop()
    const thrown = await store.pauseWorker(id, { by: 'ann' }).catch((error: unknown) => error)
    expect(isError(thrown, 'WorkerNotFound') && thrown.worker).toBe(id)
    await expect(store.resumeWorker('nobody', { by: 'ann' })).rejects.toMatchObject({ worker: 'nobody' })
    expect(await listed()).toEqual([])
  })
})
