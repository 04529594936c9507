import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pick } from '../../../../src/agent/workers/choosing/pick.ts'
import { plainPick } from '../../../support/workers/plain-pick.ts'
import { story } from '../../../support/workers/story.ts'
import { runs } from '../../../support/runs.ts'

const one = fc.constantFrom
const chat = one('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
const worker = one('me', 'v', 'w')
const answer = fc.record({ tenant: one('s', 't', 't', 'u'), priority: fc.nat(1) })

/** Something that happens, and how long after what happened before, in milliseconds. */
const happening = fc.record({
  ms: fc.oneof({ weight: 4, arbitrary: fc.nat(30) }, one(1_000, 10_000, 61_000, 3_600_000)),
  what: fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: one('ask', 'queue'), chat, answer }) },
    { weight: 3, arbitrary: fc.record({ type: one('claim', 'died'), chat, worker }) },
    { weight: 2, arbitrary: fc.record({ type: one('reply', 'pause', 'resume'), chat }) },
    { weight: 1, arbitrary: fc.record({ type: one('free', 'failed'), chat, worker }) },
    { weight: 2, arbitrary: fc.record({ type: one('beat', 'standBy', 'stopped', 'pauseWorker'), worker }) },
  ),
})
const policy = {
  tenants: { s: { limit: 1 }, t: { weight: 2 }, u: { budget: { calls: 2, per: 'hour' as const } } },
}

test('a step that is asked for by another tenant is as old as before', () => {
  const { ask, queue, pass, picked } = story()
  ask('oldest', { tenant: 's' })
  for (const id of ['older', 'newer']) {
    pass(1)
    ask(id, { tenant: 't' })
  }
  queue('oldest', { tenant: 't' })
  expect(picked()).toBe('oldest')
})

describe('whatever has happened', () => {
  test('a worker that looks at few of the open steps finds the same as one that looks at all', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 60 }), (happenings) => {
        const told = story({ policy, slots: 2 })
        for (const { ms, what } of happenings) {
          told.pass(ms)
          if ('answer' in what) told[what.type](what.chat, what.answer)
          else if (what.type === 'claim') told.claim(what.chat, what.worker)
          else if (what.type === 'died') {
            told.claim(what.chat, what.worker)
            told.stopped(what.worker)
          } else if (what.type === 'free' || what.type === 'failed')
            told.release(what.chat, what.worker, what.type)
          else if ('chat' in what) told[what.type](what.chat)
          else told[what.type](what.worker)
          for (const isStandby of [false, true]) {
            const me = { ...told.who(), isStandby }
            const { conversation, lookAt } = pick(told.known, me, told.now())
            const plain = plainPick(told.known, me, told.now())
            if (conversation === undefined) expect({ first: [], lookAt }).toEqual(plain)
            else expect(plain.first).toContain(conversation)
          }
        }
      }),
      { numRuns: runs(150) },
    )
  })
})
