import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import type { WorkerSettings } from '../../../src/agent/workers/serving/shift.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { cuttable } from '../../support/workers/cut-off.ts'
import { hand, lasting, say, stepsOf, until } from '../../support/workers/hands.ts'

/** Turns that nothing ends. */
const endless: WorkerSettings['give'] = () => new Promise(() => {})

describe('a worker that is told to stop ends soon after its grace', () => {
  test('and says what it could not let go of, because a turn ignores its signal: others take it at once', async () => {
    const store = memoryStore()
    await say(store, 'c', true)
    await say(store, 'd', true)
    const { stop, ended } = hand(store, 'w', { slots: 2, give: endless, grace: 10 })
    await until(async () => (await stepsOf(store)).every((step) => step.endsWith('claimed')))
    stop()
    expect(await ended).toEqual({ why: 'stopped', left: ['c', 'd'], isRecorded: true })
    expect(await stepsOf(store)).toEqual(['c open', 'd open'])
  })

  test('while the store is away: nobody is told', async () => {
    const { store, cut } = cuttable(memoryStore())
    await say(store, 'c', true)
    const { stop, ended } = hand(store, 'w', { give: lasting })
    await until(async () => (await stepsOf(store)).join() === 'c claimed')
    cut()
    stop()
    expect(await ended).toEqual({ why: 'stopped', left: ['c'], isRecorded: false })
  })

  test('also if it never reached the store', async () => {
    const { store, cut } = cuttable(memoryStore())
    cut()
    const { stop, ended } = hand(store, 'w')
    stop()
    expect(await ended).toEqual({ why: 'stopped', left: [], isRecorded: false })
  })

  test('if the store is closed meanwhile', async () => {
    const store = memoryStore()
    await say(store, 'c', true)
    const { stop, ended } = hand(store, 'w', { give: endless })
    await until(async () => (await stepsOf(store)).join() === 'c claimed')
    stop()
    await store.close()()
    expect(await ended).toMatchObject({ left: ['c'], isRecorded: false })
  })

  test('with nothing left where the function that returns the options of a turn never settles', async () => {
    const store = await openStore('memory:')
    atEnd(store.close)
    await store.conversation('c').append({ role: 'user', content: 'Is it there?' }, { answer: true })
    const stop = new AbortController()
    let isAsked = false
    const worker = store.worker({
      turn: () => {
        isAsked = true
        return new Promise(() => {})
      },
      grace: 0,
    })
    const ended = worker.run({ signal: stop.signal })
    await until(() => isAsked)
    stop.abort()
    expect(await ended).toEqual({ why: 'stopped', left: [], isRecorded: true })
    for await (const step of store.steps()) expect(step).toMatchObject({ state: 'open', errors: [] })
  })
})

test('a worker says nothing after it has said that it stopped: it would be taken for alive', async () => {
  const inner = memoryStore()
  const beat = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const append: EventStore['append'] = (request) => async () => {
    if (request.events[0]?.type === 'WorkerBeat') {
      beat.resolve()
      await release.promise
    }
    return inner.append(request)()
  }
  const { stop, ended } = hand({ ...inner, append }, 'w')
  await beat.promise
  stop()
  await new Promise((resolve) => setTimeout(resolve, 50))
  release.resolve()
  await ended
  const said = async (): Promise<readonly string[]> => {
    const read = inner.read({ stream: 'worker-w', from: 0, direction: 'forwards', limit: 9 })
    return right(await read()).map(({ type }) => type)
  }
  await until(async () => (await said()).length === 2)
  expect(await said()).toEqual(['WorkerBeat', 'WorkerStopped'])
})

test('a worker that has ended reads nothing more, even if it never came to the end of the store', async () => {
  const store = memoryStore()
  for (let n = 0; n < 60; n++) await say(store, `c${n}`)
  let pages = 0
  const readAll: EventStore['readAll'] = (range) => async () => {
    pages++
    await new Promise((resolve) => setTimeout(resolve, 20))
    return store.readAll({ ...range, limit: 1 })()
  }
  const { stop, ended } = hand({ ...store, readAll }, 'w')
  await until(() => pages > 2)
  stop()
  await ended
  const read = pages
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(pages).toBe(read)
})

test('a worker whose store is closed ends, whatever it was doing', async () => {
  const store = memoryStore()
  await say(store, 'c', true)
  const { ended } = hand(store, 'w', { give: endless })
  await until(async () => (await stepsOf(store)).join() === 'c claimed')
  await store.close()()
  expect(await ended).toEqual({ why: 'closed', left: ['c'], isRecorded: false })
})

test('a worker ends at once if its store is closed before it could read it', async () => {
  const closed = memoryStore()
  await closed.close()()
  expect(await hand(closed, 'w').ended).toEqual({ why: 'closed', left: [], isRecorded: false })
})

test('so does one whose store is closed while it is away', async () => {
  const inner = memoryStore()
  const { store, cut, mend } = cuttable(inner)
  cut()
  const { ended } = hand(store, 'w')
  await inner.close()()
  mend()
  expect(await ended).toMatchObject({ why: 'closed' })
})

test('a worker ends if the file of its store is replaced, which no store that is open recovers from', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
  atEnd(() => rmSync(folder, { recursive: true }))
  const store = await openStore(`sqlite:${join(folder, 'a.db')}`)
  atEnd(store.close)
  const worker = store.worker({ turn: () => new Promise(() => {}) })
  const ended = worker.run()
  const chat = store.conversation('c')
  await chat.append({ role: 'user', content: 'Is it there?' }, { answer: true })
  await until(async () => {
    for await (const { state } of store.steps()) return state === 'claimed'
    return false
  })
  renameSync(join(folder, 'a.db'), join(folder, 'b.db'))
  await expect(chat.append({ role: 'user', content: 'Hello?' })).rejects.toMatchObject({
    _tag: 'StoreReplaced',
  })
  expect(await ended).toMatchObject({ why: 'closed' })
})

test('a worker runs once, since others know it by its id', async () => {
  const store = await openStore('memory:')
  atEnd(store.close)
  const worker = store.worker({ turn: () => ({ client: {} as never, model: 'm' }) })
  const stop = new AbortController()
  const first = worker.run({ signal: stop.signal })
  const twice = { _tag: 'InvalidInput', path: 'run' }
  await expect(worker.run()).rejects.toMatchObject(twice)
  stop.abort()
  expect(await first).toMatchObject({ why: 'stopped', isRecorded: true })
  await expect(worker.run()).rejects.toMatchObject(twice)
})

describe('a misspelt or wrong option is InvalidInput', () => {
  const problem = async (work: () => AsyncIterable<unknown> | Promise<unknown>): Promise<unknown> => {
    try {
      const given = work()
      if (given instanceof Promise) await given
      else for await (const _ of given) break
      return E.right('nothing')
    } catch (error) {
      const { _tag, path } = error as { readonly _tag: string; readonly path: string }
      return [_tag, path]
    }
  }
  test.each([
    ['steps', { stat: 'open' }, 'stat'],
    ['steps', { state: 'done' }, 'state'],
    ['steps', { conversations: 'billing-' }, 'conversations'],
    ['workers', { evry: 5 }, 'evry'],
    ['workers', { every: 0 }, 'every'],
    ['workers', { signal: 'no' }, 'signal'],
  ] as const)('of store.%s: %j', async (name, options, path) => {
    const store = await openStore('memory:')
    atEnd(store.close)
    expect(await problem(() => store[name](options as object))).toEqual(['InvalidInput', path])
  })
  test.each([
    [{ signal: 5 }, 'signal'],
    [{ sigal: new AbortController().signal }, 'sigal'],
  ])('of run: %j', async (options, path) => {
    const store = await openStore('memory:')
    atEnd(store.close)
    const worker = store.worker({ turn: () => ({ client: {} as never, model: 'm' }) })
    expect(await problem(() => worker.run(options as object))).toEqual(['InvalidInput', path])
  })
})
