import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { withActivity } from '../../src/api/by-activity.ts'
import { noteIndex } from '../../src/history/note-index.ts'
import { overviewer } from '../../src/jobs/overview.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { atEnd } from '../support/at-end.ts'
import { storedForked } from '../support/catalogue/stored.ts'
import { right } from '../support/either.ts'
import { histories, rawLogs } from '../support/histories.ts'
import { assistant, user } from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { write } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

const all = async <A>(items: AsyncIterable<A>): Promise<readonly A[]> => {
  const list: A[] = []
  for await (const item of items) list.push(item)
  return list
}

/** The list of a store by the store alone, and by its index. */
const listsOf = (store: EventStore) => {
  const catalogue = catalogueOf(store, undefined)
  atEnd(catalogue.close)
  const overviews = overviewer(store, noteIndex(store))
  return { overviews, byActivity: withActivity(overviews, catalogue), catalogue }
}

test.each([
  ['logs that commands wrote', histories(40)],
  ['logs of any events', rawLogs(40)],
])('by activity, the list of %s says what the store says', async (_, logs) => {
  await fc.assert(
    fc.asyncProperty(logs, fc.array(fc.nat(40), { maxLength: 2 }), async (any, cuts) => {
      if (any.length === 0) return
      const { store } = await storedForked(any, cuts)
      const { overviews, byActivity } = listsOf(store)
      const byId = await all(overviews({ sort: 'id' }))
      const listed = await all(byActivity({ sort: 'activity' }))
      expect(listed.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual(byId)
    }),
    { numRuns: runs(60) },
  )
})

test('by activity, a list is read in the index, and only what has notes or was forked in the store', async () => {
  const inMemory = memoryStore()
  let reads = 0
  const store: EventStore = {
    ...inMemory,
    read: (range) => {
      reads++
      return inMemory.read(range)
    },
  }
  for (let n = 0; n < 250; n++) await write(store, `c${n}`, [user(` Why\n${n}?`), assistant('So.')])
  const { byActivity, catalogue } = listsOf(store)
  while (!right(await catalogue.find()()).isComplete);
  reads = 0
  const listed = await all(byActivity({ sort: 'activity' }))
  expect(listed).toHaveLength(250)
  expect(listed[0]).toEqual({
    id: 'c249',
    title: 'Why 249?',
    messages: 2,
    events: 2,
    updated: new Date(0).toISOString(),
  })
  expect(reads).toBe(0)
  await catalogue.close()
})
