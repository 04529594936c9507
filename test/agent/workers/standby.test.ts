import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../../src/api/open.ts'
import { START } from '../../../src/events/events.ts'
import { run } from '../../../src/result/fallible.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { WorkerSettings } from '../../../src/agent/workers/serving/shift.ts'
import { right } from '../../support/either.ts'
import { handClock } from '../../support/workers/hand-clock.ts'
import { hand, say, stepsOf } from '../../support/workers/hands.ts'
import { story, type Story } from '../../support/workers/story.ts'

const ttl = 10_000
const standby = { isStandby: true }

/** A step that so many workers have died of, and what has been waiting for its next attempt. */
const died = (times: number): Story => {
  const told = story()
  told.ask('c')
  for (let n = 1; n <= times; n++) {
    told.claim('c', `dead${n}`, n)
    told.stopped(`dead${n}`)
  }
  told.pass(20_000)
  return told
}

describe('what two workers have died of', () => {
  test('is left to whoever stands by; if that does not take it within a TTL, anybody does', () => {
    const { standBy, picked, pickFor } = died(2)
    expect(picked()).toBe('c')
    standBy('spare')
    expect(pickFor('c', { ...standby, worker: 'spare' }).conversation).toBe('c')
    const late = died(2)
    late.standBy('spare')
    late.claim('c', 'dead3', 3)
    late.stopped('dead3')
    late.pass(ttl - 1)
    expect(late.picked()).toBeUndefined()
    late.pass(4_001)
    expect(late.picked()).toBe('c')
  })

  test('waits as well while another is about to take the place of the one that has died of it, or has stepped in', () => {
    for (const leave of ['stopped', 'beat'] as const) {
      const told = died(1)
      told.standBy('spare')
      told.claim('c', 'spare', 2)
      if (leave === 'beat') told.beat('spare')
      told.stopped('spare')
      told.pass(ttl - 1)
      expect(told.picked()).toBeUndefined()
      told.pass(2_001)
      expect(told.picked()).toBe('c')
    }
  })

  test('is that also if one of them fell silent, and no longer once somebody says more', () => {
    const told = died(1)
    told.claim('c', 'silent', 2)
    told.standBy('spare')
    told.pass(ttl + 2_000)
    expect(told.picked()).toBeUndefined()
    expect(told.picked('spare', undefined, standby)).toBe('c')
    told.ask('c')
    told.release('c', 'silent', 'free')
    expect(told.picked('spare', undefined, standby)).toBeUndefined()
    expect(told.picked()).toBe('c')
  })
})

test('what one worker has died of anybody takes at once, and whoever stands by does not', () => {
  const { standBy, ask, picked } = died(1)
  standBy('spare')
  expect(picked()).toBe('c')
  ask('d')
  expect(picked('spare', undefined, standby)).toBeUndefined()
})

test('nobody waits for whoever stands by, as for a worker that comes first in line', () => {
  for (let n = 0; n < 20; n++) {
    const { standBy, ask, picked } = story()
    standBy('spare')
    ask(`c${n}`)
    expect(picked()).toBe(`c${n}`)
  }
})

const actor = { kind: 'test' }

/** A store with a step that two workers have died of, and one that nobody has tried. */
const suspected = async () => {
  const store = memoryStore()
  const { conversation, workerStopped } = storeOn(store, actor)
  await say(store, 'deadly', true)
  await say(store, 'plain', true)
  for (const [revision, attempt] of [1, 2].entries()) {
    const data = { step: 'conversation@0', worker: `dead${attempt}`, attempt, at: START }
    right(await run(conversation('deadly').turnLog.append([{ type: 'TurnClaimed', data }], revision - 1)))
    right(await workerStopped(`dead${attempt}`)())
  }
  return store
}

describe('a worker that stands by', () => {
  test('takes nothing beside what workers may die of; told to step in, it does as any other once that is over', async () => {
    const store = await suspected()
    const { clock, pass } = handClock()
    const over = Promise.withResolvers<void>()
    const stepsIn = new AbortController()
    const given: string[] = []
    const give: WorkerSettings['give'] = async ({ id }) => {
      given.push(id)
      if (id === 'deadly') await over.promise
      return E.left({ _tag: 'ModelAborted', message: 'no' })
    }
    hand(store, 'spare', { slots: 4, standby: stepsIn.signal, give }, clock)
    await pass(20_000)
    expect(given).toEqual(['deadly'])
    stepsIn.abort()
    await pass(1_000)
    expect(given).toEqual(['deadly'])
    over.resolve()
    await pass(1_000)
    expect(given).toContain('plain')
  })

  test('says so, and says so at once when it no longer does; until then nobody sees it among the workers', async () => {
    const store = memoryStore()
    const { clock, pass } = handClock()
    const stepsIn = new AbortController()
    hand(store, 'spare', { slots: 4, standby: stepsIn.signal }, clock)
    await pass(1_000)
    const beats = async (): Promise<readonly unknown[]> =>
      right(await store.read({ stream: 'worker-spare', from: 0, direction: 'forwards', limit: 9 })()).map(
        ({ data }) => JSON.parse(data) as unknown,
      )
    const seen = async (): Promise<number> => {
      for await (const { workers } of storeOn(store, actor).workers()) return workers.length
      return -1
    }
    expect(await beats()).toEqual([{ slots: 0, busy: 0, standby: true }])
    expect(await seen()).toBe(0)
    stepsIn.abort()
    await pass(0)
    expect((await beats()).slice(1)).toEqual([{ slots: 4, busy: 0 }])
    expect(await seen()).toBe(1)
  })

  test('leaves alone what others have tried and nobody died of', async () => {
    const store = memoryStore()
    await say(store, 'plain', true)
    const { clock, pass } = handClock()
    hand(store, 'spare', { standby: new AbortController().signal }, clock)
    await pass(60_000)
    expect(await stepsOf(store)).toEqual(['plain open'])
  })
})
