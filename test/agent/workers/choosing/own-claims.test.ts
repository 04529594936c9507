import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createWorkBoard } from '../../../../src/agent/workers/board/work-board.ts'
import { paceFrom, refusals } from '../../../../src/agent/workers/choosing/own-claims.ts'
import { handClock } from '../../../support/workers/hand-clock.ts'

test('a conversation whose claim has failed is left alone for a while, and nothing is waited for after that', async () => {
  const { clock, pass } = handClock()
  const refused = refusals(
    createWorkBoard(() => true),
    clock,
    1_000,
  )
  refused.add('c', undefined)
  expect(refused.earliest()).toBe(1_000)
  expect(refused.has('c')).toBe(true)
  await pass(1_000)
  // Its step may be another's, or gone: nobody asks about it any more.
  expect(refused.earliest()).toBe(Infinity)
  expect(refused.has('c')).toBe(false)
})

test('others are waited for several times as long as claims take lately, within limits', () => {
  const pace = paceFrom(10)
  expect(pace.wait()).toBe(10)
  for (let n = 0; n < 50; n++) pace.claimed(20)
  expect(pace.wait()).toBeCloseTo(80, 0)
  for (let n = 0; n < 50; n++) pace.claimed(1)
  expect(pace.wait()).toBe(10)
})

test('however long claims take, the wait is between the shortest and 300 ms', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1e6, noNaN: true })), (claims) => {
      const pace = paceFrom(10)
      for (const ms of claims) pace.claimed(ms)
      expect(pace.wait()).toBeGreaterThanOrEqual(10)
      expect(pace.wait()).toBeLessThanOrEqual(300)
    }),
  )
})
