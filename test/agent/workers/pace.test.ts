import fc from 'fast-check'
import { expect, test } from 'vitest'
import { paceFrom } from '../../../src/agent/workers/choosing/own-claims.ts'

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
