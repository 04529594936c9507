import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { taskConversation } from '../../src/api/conversation.ts'
import { storeOn } from '../../src/api/open.ts'
import type { Event } from '../../src/events/events.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { right } from '../support/either.ts'
import { histories } from '../support/histories.ts'
import { runs } from '../support/runs.ts'
import { write } from '../support/write.ts'
import { noCatalogue } from '../support/no-catalogue.ts'

/** The discrepancy of a log of which the events at these positions are erased, if they can be. */
const discrepancyOf = async (log: readonly Event[], positions: readonly number[]) => {
  const adapter = memoryStore()
  await write(adapter, 'c', log)
  const chat = taskConversation(storeOn(adapter, { kind: 'test' }).conversation('c'), noCatalogue)
  await chat.erase({ positions })()
  return right(await chat.verify()()).discrepancy
}

test('verify finds nothing in any log after the erasure of any of its events', async () => {
  await fc.assert(
    fc.asyncProperty(
      histories(40).filter(({ length }) => length > 0),
      fc.array(fc.nat(60), { minLength: 1, maxLength: 8 }),
      async (log, picked) => {
        const positions = [...new Set(picked.map((at) => at % log.length))]
        expect(await discrepancyOf(log, positions)).toBeUndefined()
      },
    ),
    { numRuns: runs(600) },
  )
})

test('a view without a prompt is as it was after an erased configuration on another branch', async () => {
  const user: Event = { type: 'MessageAppended', data: { role: 'user', content: [] } }
  const log: readonly Event[] = [
    user,
    {
      type: 'Truncated',
      data: {
        covers: { first: 0, last: 0 },
        messagesHidden: 1,
        tokens: { before: 0, after: 0 },
        view: { items: [{ marker: 1 }] },
      },
    },
    { type: 'Configured', data: { parameters: { max_tokens: 10 } } },
    { type: 'Rewound', data: { to: 1 } },
    user,
    {
      type: 'Restored',
      data: {
        marker: 1,
        view: { items: [{ first: 0, last: 4 }], restored: [{ after: 1, before: 5 }] },
      },
    },
  ]
  expect(await discrepancyOf(log, [])).toBeUndefined()
  expect(await discrepancyOf(log, [2])).toBeUndefined()
})
