import fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  adaptCapacity,
  type WorkerCapacity,
  fullCapacity,
  outcomeOf,
  type TurnAttempt,
} from '../../../../src/agent/workers/serving/outcome.ts'
import { text } from '../../../support/log.ts'
import { ask, scene, steps, until } from '../../../support/workers/scene.ts'

const most = 8
/** What becomes of the capacity after turns; each begins and ends at its index, unless it says otherwise. */
const after = (
  turns: readonly Partial<TurnAttempt>[],
  from: WorkerCapacity = fullCapacity(most),
): WorkerCapacity =>
  turns.reduce<WorkerCapacity>(
    (capacity, { how = 'succeeded', began, ended }, index) =>
      adaptCapacity(capacity, most, { how, began: began ?? index, ended: ended ?? index }),
    from,
  )
const refused = { how: 'refused' } as const
const times = <T>(count: number, each: T): readonly T[] => Array.from({ length: count }, () => each)

describe('the slots of a worker', () => {
  test('are halved when the API refuses a call for there being too many, down to one', () => {
    expect([1, 2, 3, 4].map((n) => after(times(n, refused)).slots)).toEqual([4, 2, 1, 1])
  })

  test('are halved once for calls that were in progress together', () => {
    expect(after(times(8, { ...refused, began: 0, ended: 10 })).slots).toBe(4)
    expect(after([...times(8, { ...refused, began: 0, ended: 10 }), { ...refused, began: 10 }]).slots).toBe(2)
  })

  test('become one more after as many turns in a row as there are slots, up to all', () => {
    const low = after([refused, refused])
    expect([1, 2, 4, 5, 9].map((n) => after(times(n, {}), low).slots)).toEqual([2, 3, 3, 4, 5])
    expect(after(times(100, {}), low).slots).toBe(most)
  })

  test('stay as they are after turns that fail for another reason', () => {
    expect(after(times(20, { how: 'other' })).slots).toBe(most)
    const low = after([refused])
    expect(after(times(20, { how: 'other' }), low)).toEqual(low)
  })

  test('are always between one and all', () => {
    const turn = fc.record({
      how: fc.constantFrom<TurnAttempt['how']>('refused', 'succeeded', 'other'),
      began: fc.nat(100),
      ended: fc.nat(100),
    })
    fc.assert(
      fc.property(fc.array(turn), (turns) => {
        const { slots } = after(turns)
        expect(Number.isInteger(slots) && slots >= 1 && slots <= most).toBe(true)
      }),
    )
  })
})

describe('a failed call of the API', () => {
  const gone = { _tag: 'ModelFailed', message: 'gone', retryable: true } as const
  const first = { attempt: 1, isStopping: false } as const

  test('that did not reach it counts no attempt, and waits up to a minute, longer in a long outage', () => {
    const waits = [0, 7_000, 20_000, 3_600_000].map((outage) => outcomeOf(E.left(gone), { ...first, outage }))
    expect(waits).toMatchObject([1_000, 7_000, 20_000, 60_000].map((waitMs) => ({ reason: 'free', waitMs })))
    for (const status of [502, 503, 504, 522])
      expect(outcomeOf(E.left({ ...gone, status }), first)).toMatchObject({ reason: 'free', waitMs: 1_000 })
    const later = { ...gone, status: 503, retryAfter: 90_000 }
    expect(outcomeOf(E.left(later), first)).toMatchObject({ reason: 'free', waitMs: 90_000 })
  })

  test('counts if the reply had begun, or the failure will not pass', () => {
    const begun = { ...gone, usage: { input_tokens: 5 } }
    for (const failure of [begun, { ...gone, retryable: false }, { ...gone, type: 'api_error' }])
      expect(outcomeOf(E.left(failure), first)).toMatchObject({ reason: 'failed', waitMs: 1_000 })
  })

  test('with an internal error counts, but five of them take minutes', () => {
    const waits = [1, 2, 3, 4].map((attempt) => {
      const outcome = outcomeOf(E.left({ ...gone, status: 500 }), { attempt, isStopping: false })
      return outcome.reason === 'failed' && outcome.waitMs
    })
    expect(waits).toEqual([5_000, 20_000, 80_000, 320_000])
  })
})

describe('a worker whose calls are refused for there being too many', () => {
  test.each([429, 529])('takes half as many steps at once, and says so (%d)', async (status) => {
    const [all, shown] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let called = 0
    let calls = 0
    let highest = 0
    const { store, worker } = await scene(async () => {
      if (++called === 8) all.resolve()
      if (called <= 8) {
        await all.promise
        return { status, type: 'api_error', message: 'too many', retryAfter: 0 }
      }
      highest = Math.max(highest, ++calls)
      await shown.promise
      await sleep(20)
      calls--
      return { content: [text('Yes.')] }
    })
    for (let n = 0; n < 8; n++) await store.conversation(`c${n}`).append(ask, { answer: true })
    worker({ slots: 8, ttl: 10_000 })
    const slotsIn = async (): Promise<number | undefined> => {
      for await (const { workers } of store.workers()) return workers[0]?.slots
      return undefined
    }
    await until(async () => (await slotsIn()) === 4)
    shown.resolve()
    await until(async () => (await steps(store)).length === 0)
    // One more after four turns.
    expect(highest).toBeLessThanOrEqual(5)
  })
})
