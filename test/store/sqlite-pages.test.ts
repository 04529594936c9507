import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { StoredEvent } from '../../src/events/codec.ts'
import type { EventStore, RecordedEvent } from '../../src/store/port.ts'
import { streamReads } from '../../src/store/sqlite/reads.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { temporaryFolder } from '../support/stores.ts'

const stream = 'conversation-c'
const ofLength = (length: number, index: number): StoredEvent => ({
  id: `id-${index}`,
  type: 'MessageAppended',
  data: 'x'.repeat(length),
  metadata: '{}',
})

const storeOf = async (lengths: readonly number[]): Promise<EventStore> => {
  const store = right(await openSqlite(`sqlite:${join(temporaryFolder(), 'store.db')}?synchronous=off`)())
  atEnd(() => store.close()())
  right(await store.append({ stream, events: lengths.map(ofLength), expected: -1 })())
  return store
}

const forwards = async (store: EventStore): Promise<readonly (readonly RecordedEvent[])[]> => {
  const pages: (readonly RecordedEvent[])[] = []
  for (let from = 0; ; from += pages.at(-1)?.length ?? 0) {
    const page = right(await store.read({ stream, from, direction: 'forwards', limit: 200 })())
    if (page.length === 0) return pages
    pages.push(page)
  }
}
const lengthOf = (page: readonly RecordedEvent[]): number =>
  page.reduce((length, { data }) => length + data.length, 0)

describe('pages of an SQLite file', () => {
  const megabyte = 1024 * 1024
  const short = (count: number): readonly number[] => Array.from({ length: count }, () => 100)
  const long = (count: number): readonly number[] => Array.from({ length: count }, () => 60_000)

  test.each([
    ['short rows', short(500)],
    ['long rows', long(100)],
    ['rows longer than a page', [2 * megabyte, 3 * megabyte, 10, 2 * megabyte, ...short(50)]],
    ['long rows after short ones', [...short(250), ...long(60), ...short(250)]],
    ['empty rows', [0, 0, 0, ...short(300)]],
  ])('have every event once, in order: %s', async (_, lengths) => {
    const store = await storeOf(lengths)
    for (let time = 0; time < 2; time++) {
      const read = (await forwards(store)).flat()
      expect(read.map(({ revision, data }) => [revision, data.length])).toEqual([...lengths.entries()])
    }
    const from = lengths.length - 1
    const back = right(await store.read({ stream, from, direction: 'backwards', limit: 40 })())
    expect(back.map(({ revision }) => revision)).toEqual(back.map((_event, index) => from - index))
  })

  test('hold about a quarter of a megabyte once it is known how long rows are', async () => {
    const store = await storeOf(long(100))
    const [first, ...others] = await forwards(store)
    expect(lengthOf(first ?? [])).toBeLessThan(2 * megabyte)
    for (const page of others) expect(lengthOf(page)).toBeLessThan(0.4 * megabyte)
  })

  test('of short rows are as long as was asked for', async () => {
    const pages = await forwards(await storeOf(short(500)))
    expect(pages.map(({ length }) => length)).toEqual([200, 200, 100])
  })
})

describe('the messages of a stream', () => {
  test('are counted without a look at each of them', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const store = right(await openSqlite(`sqlite:${path}?synchronous=off`)())
    atEnd(() => store.close()())
    const db = new DatabaseSync(path)
    atEnd(() => db.close())
    const asked: string[] = []
    const reads = streamReads((sql) => () => {
      asked.push(sql)
      return db.prepare(sql)
    })
    const write = async (count: number, expected: number): Promise<void> => {
      const events = Array.from({ length: count }, (_, index) => ofLength(10, expected + 1 + index))
      const marker = { ...ofLength(10, expected + 1 + count), type: 'Truncated' }
      right(await store.append({ stream, events: [...events, marker], expected })())
    }
    await write(1_000, -1)
    expect(reads.count(stream, 'MessageAppended', Infinity)).toBe(1_000)
    expect(reads.count(stream, 'MessageAppended', 999)).toBe(1_000)
    expect(reads.count(stream, 'MessageAppended', 498)).toBe(499)
    const counting = asked.find((sql) => sql.includes('count')) ?? ''
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${counting}`).all(1, 1)
    expect(String(plan[0]?.['detail'])).toContain('COVERING INDEX events_besides_messages')
  })

  test('are counted on from where they were counted before', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const store = right(await openSqlite(`sqlite:${path}?synchronous=off`)())
    atEnd(() => store.close()())
    const types = ['MessageAppended', 'Truncated', 'MessageAppended', 'MessageAppended', 'Rewound']
    let written = 0
    for (let round = 1; round <= 80; round++) {
      const events = types.map((type) => ({ ...ofLength(10, written++), type }))
      right(await store.append({ stream, events, expected: written - types.length - 1 })())
      for (const through of [written - 1, written - 3, Infinity])
        expect(right(await store.count(stream, 'MessageAppended', through)())).toBe(
          round * 3 - (through === written - 3 ? 1 : 0),
        )
    }
    expect(right(await store.count(stream, 'MessageAppended', 4)())).toBe(3)
  })
})
