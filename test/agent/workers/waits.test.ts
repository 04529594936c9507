import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  backoff,
  maxAttempts,
  takeoverDelay,
  withoutHolder,
  type OpenStep,
} from '../../../src/agent/workers/board/open-step.ts'
import { carriedStepOf, restoreCarriedStep } from '../../../src/agent/workers/board/work-snapshot.ts'

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
          } = carriedStepOf('c', withoutHolder('c', step, ends) ?? step, undefined)
          expect(carried.waitMs).toBe(wait)
          expect(restoreCarriedStep(carried, later).notBefore).toBe(later + wait)
        },
      ),
    )
  })
})
