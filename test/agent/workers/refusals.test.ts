import { expect, test } from 'vitest'
import { createWorkBoard } from '../../../src/agent/workers/board/work-board.ts'
import { refusals } from '../../../src/agent/workers/choosing/own-claims.ts'
import { handClock } from '../../support/workers/hand-clock.ts'

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
