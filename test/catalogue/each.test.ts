import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { catalogueOf } from '../support/catalogue/patient.ts'
import { createFeed } from '../../src/catalogue/feed.ts'
import { run } from '../../src/result/fallible.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { user } from '../support/log.ts'
import { temporaryFolder } from '../support/stores.ts'
import { write } from '../support/write.ts'

const places = {
  'in memory': (): undefined => undefined,
  'in a file': (): string => join(temporaryFolder(), 'index'),
}

const storeOf = async (conversations: number) => {
  const store = memoryStore()
  for (let n = 0; n < conversations; n++) await write(store, `c${n}`, [user('The common word.')])
  return store
}

const all = 'SELECT rowid AS doc FROM words WHERE words MATCH ? ORDER BY rowid DESC'

test.each(Object.entries(places))(
  '%s, rows are read as they were, each once, whatever is indexed meanwhile',
  async (_, placeIn) => {
    const store = await storeOf(50)
    const feed = createFeed(store, placeIn())
    atEnd(feed.close)
    right(await run(feed.catchUp(60_000)))
    const docs: number[] = []
    for await (const { doc } of feed.each(all, '"com"')) {
      docs.push(Number(doc))
      if (docs.length % 10 > 0) continue
      await write(store, `later-${docs.length}`, [user('One more common word.')])
      right(await run(feed.catchUp(60_000)))
    }
    expect(docs).toEqual(Array.from({ length: 50 }, (__, index) => 50 - index))
    expect(feed.read((___, { db }) => db.prepare(all).all('"com"'))).toHaveLength(55)
    expect(feed.left()).toBe(0)
  },
)

test.each(Object.entries(places))('%s, reading rows ends where the index is closed', async (_, placeIn) => {
  const feed = createFeed(await storeOf(50), placeIn())
  right(await run(feed.catchUp(60_000)))
  let rows = 0
  for await (const row of feed.each(all, '"com"')) {
    expect(row).toBeDefined()
    if (rows++ === 0) await feed.close()
  }
  expect(rows).toBeGreaterThan(0)
})

test.each(Object.entries(places))(
  '%s, what has a text is asked for once, however many have it',
  async (_, placeIn) => {
    const catalogue = catalogueOf(await storeOf(800), placeIn())
    atEnd(catalogue.close)
    while (!right(await catalogue.find()()).isComplete);
    const prepared = vi.spyOn(DatabaseSync.prototype, 'prepare')
    atEnd(() => prepared.mockRestore())
    const asked = (): number => prepared.mock.calls.filter(([sql]) => sql.includes('MATCH')).length
    let [pages, found] = [0, 0]
    for (let cursor: string | undefined, isMore = true; isMore; isMore = cursor !== undefined) {
      const { items, next } = right(await catalogue.find({ q: 'common', limit: 1_000, cursor })())
      cursor = next
      pages++
      found += items.length
    }
    expect([found, asked()]).toEqual([800, pages])
    for (let cursor: string | undefined, isMore = true; isMore; isMore = cursor !== undefined) {
      const { items, next } = right(await catalogue.search('common', { limit: 1_000, cursor })())
      cursor = next
      pages++
      found += items.length
    }
    expect([found, asked()]).toEqual([1_600, pages])
  },
)
