import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { withIndex } from '../../src/api/by-index.ts'
import { openStore } from '../../src/index.ts'
import { noteIndex } from '../../src/conversation/beside/note-index.ts'
import { type ListOptions, listPages } from '../../src/catalogue/list/list-pages.ts'
import type { ConversationInfo } from '../../src/catalogue/list/conversation-info.ts'
import { createInfoLister } from '../../src/catalogue/list/list-infos.ts'
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
  const notes = noteIndex(store)
  const infos = createInfoLister(store, notes)
  const pages = (options: ListOptions) => listPages(store, notes, options)
  return { infos, byIndex: withIndex({ infos, pages, catalogue, isKept: true }), catalogue }
}

test.each([
  ['logs that commands wrote', histories(40)],
  ['logs of any events', rawLogs(40)],
])('by its index, the list of %s says what the store says', async (_, logs) => {
  await fc.assert(
    fc.asyncProperty(logs, fc.array(fc.nat(40), { maxLength: 2 }), async (any, cuts) => {
      if (any.length === 0) return
      const { store } = await storedForked(any, cuts)
      const { infos, byIndex } = listsOf(store)
      const byId = await all(infos({ sort: 'id' }))
      const listed = await all(byIndex({ sort: 'activity' }))
      expect(listed.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual(byId)
      expect(await all(byIndex({ sort: 'id' }))).toEqual(byId)
      expect(await all(byIndex({ sort: 'begun' }))).toEqual(await all(infos({ sort: 'begun' })))
    }),
    { numRuns: runs(60) },
  )
})

const sorts = ['activity', 'begun', 'newest', 'id'] as const

/** A store of so many conversations that counts what is read of streams, and its lists. */
const countingReads = async (conversations: number) => {
  const inMemory = memoryStore()
  const read = { streams: 0 }
  const store: EventStore = {
    ...inMemory,
    read: (range) => {
      read.streams++
      return inMemory.read(range)
    },
  }
  for (let n = 0; n < conversations; n++) await write(store, `c${n}`, [user(` Why\n${n}?`), assistant('So.')])
  return { store, read, ...listsOf(store) }
}

test.each(sorts)(
  'by %s, a list is read in the index, and only what has notes or was forked in the store',
  async (sort) => {
    const { read, byIndex, infos, catalogue } = await countingReads(250)
    while (!right(await catalogue.find()()).isComplete);
    read.streams = 0
    const listed = await all(byIndex({ sort }))
    expect(listed).toHaveLength(250)
    expect(listed.find(({ id }) => id === 'c249')).toEqual({
      id: 'c249',
      title: 'Why 249?',
      messages: 2,
      events: 2,
      updated: new Date(0).toISOString(),
    })
    expect(read.streams).toBe(0)
    if (sort !== 'activity') expect(await all(infos({ sort }))).toEqual(listed)
  },
)

test.each(sorts)(
  'by %s, what came to a conversation while others were listed is told, and none is lost or told twice',
  async (sort) => {
    const { store, byIndex } = await countingReads(250)
    const chats = await openStore(store)
    const ids = Array.from({ length: 250 }, (_, n) => `c${n}`)
    const listed: ConversationInfo[] = []
    for await (const info of byIndex({ sort })) {
      if (listed.length === 0)
        // The page that this one is of is known already.
        for (const id of ids) await chats.conversation(id).append({ role: 'user', content: 'More.' })
      listed.push(info)
    }
    expect(listed.map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    if (sort !== 'id') expect(listed.slice(100).every(({ events }) => events === 3)).toBe(true)
  },
)

test('by id and as begun, a list is read in the store where there is no file of the index', async () => {
  const { read, infos, catalogue, store } = await countingReads(3)
  const pages = (options: ListOptions) => listPages(store, noteIndex(store), options)
  const byIndex = withIndex({ infos, pages, catalogue, isKept: false })
  read.streams = 0
  for (const sort of ['id', 'begun'] as const) expect(await all(byIndex({ sort }))).toHaveLength(3)
  expect(read.streams).toBe(3)
})

test.each([
  { sort: 'activity', beginning: 1 },
  { sort: 'begun', order: 'id' },
])('options that there are not are refused: %j', async (options) => {
  const { byIndex } = listsOf(memoryStore())
  await expect(all(byIndex(options as ListOptions))).rejects.toMatchObject({ _tag: 'InvalidInput' })
})
