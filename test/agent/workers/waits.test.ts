import fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { storeOn } from '../../../src/api/open.ts'
import { completeEnvelope } from '../../../src/conversation/writing/encode.ts'
import { run } from '../../../src/result/fallible.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import {
  backoff,
  maxAttempts,
  takeoverDelay,
  withoutHolder,
  type OpenStep,
} from '../../../src/agent/workers/board/open-step.ts'
import { createWorkBoard, type WorkBoard } from '../../../src/agent/workers/board/work-board.ts'
import { carriedStepOf, restoreCarriedStep } from '../../../src/agent/workers/board/work-snapshot.ts'
import { right } from '../../support/either.ts'
import { handClock, settled } from '../../support/workers/hand-clock.ts'
import { hand, say } from '../../support/workers/hands.ts'

const step: OpenStep = {
  name: 'conversation@0',
  stage: 'open',
  asking: {},
  begunBy: 'conversation@0',
  holder: 'w',
  attempt: 3,
  errors: [],
  since: '2026-01-01T00:00:00.000Z',
  waitsSince: 0,
  freeAt: 0,
  notBefore: 0,
  hasMail: false,
}

describe('how long a step has to wait', () => {
  test('is a whole number of milliseconds after any attempt and in any conversation, also if the API asks for a fraction', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.integer({ min: 1, max: maxAttempts + 1 }),
        fc.double({ min: 0, noNaN: true }),
        (conversation, attempt, retryAfter) => {
          expect(takeoverDelay(conversation, attempt)).toSatisfy(Number.isSafeInteger)
          expect(backoff(attempt, retryAfter)).toSatisfy(Number.isSafeInteger)
        },
      ),
    )
  })

  test('is carried to a new observer as it is, whatever the clock of the one that settles it says', () => {
    // The hash of this one gives a fraction.
    const wait = takeoverDelay('c', step.attempt)
    expect(wait).toBe(1_319)
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
        (ends, later) => {
          const {
            conversation: _,
            turnsAt: __,
            ...carried
          } = carriedStepOf('c', withoutHolder('c', step, ends) ?? step, undefined, ends)
          expect(carried.waitMs).toBe(wait)
          expect(restoreCarriedStep(carried, later, 0).notBefore).toBe(later + wait)
        },
      ),
    )
  })
})

describe('the wait of a step that a worker has released', () => {
  const noon = Date.parse('2026-01-31T12:00:00.000Z')
  const minute = 60_000
  const event = (stream: string, type: string, data: object, more: object = {}) => ({
    id: 'e',
    stream,
    revision: 0,
    checkpoint: '0',
    type,
    data: JSON.stringify(data),
    metadata: JSON.stringify({ commandId: 'c', time: new Date(noon).toISOString(), ...more }),
  })
  const released = { step: 'conversation@0', worker: 'w', reason: 'free', waitMs: minute, error: 'no key' }
  /** Knowledge of an observer that reads the log at this time of the machine that recorded the release, by its own clock. */
  const readAt = (now: number, time?: number): WorkBoard => {
    const known = createWorkBoard(() => true)
    known.see(event('conversation-a', 'MessageAppended', { role: 'user' }, { answer: true }), now, time)
    known.see(event('turns-a', 'TurnClaimed', { step: 'conversation@0', worker: 'w', attempt: 1 }), now, time)
    known.see(event('turns-a', 'TurnReleased', released), now, time)
    return known
  }
  const left = (known: WorkBoard, now: number): number | undefined => {
    const { notBefore = NaN } = known.steps.get('a') ?? {}
    return notBefore - now
  }

  test('counts from when it was recorded for a worker that starts later, and from when it came for others', () => {
    expect(left(readAt(5), 5)).toBe(minute)
    for (const [passed, rest] of [
      [0, minute],
      [20_000, 40_000],
      [minute, 0],
      [3_600_000, 0],
      // The clock of the machine that recorded it is ahead.
      [-3_600_000, minute],
    ] as const)
      expect(left(readAt(5, noon + passed), 5)).toBe(rest)
  })

  test('counts after the second death from when the death was recorded, so that it ends for every reader', () => {
    const held = { step: 'conversation@0', worker: 'w', attempt: 2 }
    const diedAt = (time?: number): WorkBoard => {
      const known = createWorkBoard(() => true)
      known.see(event('conversation-a', 'MessageAppended', { role: 'user' }, { answer: true }), 5, time)
      known.see(event('turns-a', 'TurnClaimed', held), 5, time)
      known.see(event('worker-w', 'WorkerStopped', { reason: 'killed' }), 5, time)
      return known
    }
    const delay = takeoverDelay('a', 3)
    expect(delay).toBeGreaterThan(0)
    expect(left(diedAt(), 5)).toBe(delay)
    expect(left(diedAt(noon + 10), 5)).toBe(Math.max(0, delay - 10))
    expect(left(diedAt(noon + minute), 5)).toBe(0)
  })

  test('is carried by snapshots, as what is left when they are recorded, less their age', () => {
    const carried = readAt(5, noon + 20_000).carried(5 + 10_000)
    expect(carried.steps).toMatchObject([{ waitMs: 30_000 }])
    for (const [age, rest] of [
      [0, 30_000],
      [10_000, 20_000],
      [minute, 0],
    ] as const) {
      const known = createWorkBoard(() => true)
      known.restore(carried, 7, age)
      expect(left(known, 7)).toBe(rest)
    }
  })

  test('is over for a worker that starts a minute later, and not for one that starts at once', async () => {
    const recordedAgo = async (ms: number): Promise<string[]> => {
      const store = memoryStore()
      right(await say(store, 'a', true))
      const chat = storeOn(store, { kind: 'test' }).conversation('a')
      const claimed = { step: 'conversation@0', worker: 'w', attempt: 1, at: 0 }
      const facts = [
        { type: 'TurnsBegun', data: { at: 0 } },
        { type: 'TurnClaimed', data: claimed },
        { type: 'TurnReleased', data: { ...released, reason: 'free', at: 0 } },
      ] as const
      const envelope = completeEnvelope({ now: new Date(Date.now() - ms) }, { kind: 'test' })
      right(await run(chat.turnLog.append(facts, -1, envelope)))
      const { clock, pass } = handClock()
      const taken: string[] = []
      const give = () => {
        taken.push('a')
        return Promise.resolve(E.left({ _tag: 'ModelFailed', message: 'no' } as const))
      }
      const { stop, ended } = hand(store, 'later', { give }, clock)
      await pass(500)
      await settled()
      stop()
      await pass(5_000)
      await ended
      return taken
    }
    expect(await recordedAgo(minute)).toEqual(['a'])
    expect(await recordedAgo(0)).toEqual([])
  })
})
