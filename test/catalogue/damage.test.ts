import { closeSync, openSync, readdirSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { catalogueOf, type OwnCatalogue } from '../../src/catalogue/catalogue.ts'
import { feedOf } from '../../src/catalogue/feed.ts'
import { run } from '../../src/result/steps.ts'
import { withLargeContent } from '../../src/store/blobs/large-content.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { withWholeWrites } from '../../src/store/whole/whole-writes.ts'
import { atEnd } from '../support/at-end.ts'
import { left, right } from '../support/either.ts'
import { assistant, condensed, rewound, user } from '../support/log.ts'
import { temporaryFolder } from '../support/stores.ts'
import { chainOf, write } from '../support/write.ts'

const cataloguing = (store: EventStore, place?: string): OwnCatalogue => {
  const catalogue = catalogueOf(store, place)
  atEnd(catalogue.close)
  return catalogue
}
const foundIn = async (catalogue: OwnCatalogue, text: string): Promise<readonly string[]> =>
  right(await catalogue.search(text)()).items.map(
    ({ conversation, position }) => `${conversation} ${position}`,
  )
const calling = (input: object) => assistant([{ type: 'tool_use', id: 'toolu_1', name: 'look', input }])

describe('one event', () => {
  test('may have a list of any length', async () => {
    const store = memoryStore()
    const list = Array.from({ length: 200_000 }, (_, n) => (n % 50_000 === 0 ? `the needle ${n}` : n))
    await write(store, 'a', [user('Where?'), calling({ list })])
    await write(store, 'b', [user('The needle is here.')])
    expect(await foundIn(cataloguing(store), 'the needle')).toEqual(['b 0', 'a 1'])
  })

  test('that cannot be indexed ends the index of its conversation, and of no other', async () => {
    const store = memoryStore()
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const events = chainOf('a', [user('the needle'), calling({ deep: 'DEEP' }), user('the needle, again')])
    const nested = events.map((event) => ({ ...event, data: event.data.replace('"DEEP"', deep) }))
    right(await store.append({ stream: 'conversation-a', expected: -1, events: nested })())
    await write(store, 'b', [user('the needle')])
    const catalogue = cataloguing(store)
    expect(await foundIn(catalogue, 'the needle')).toEqual(['b 0', 'a 0'])
    expect(right(await catalogue.outline('a')())).toMatchObject({
      last: 2,
      indexed: 0,
      problem: expect.stringContaining('revision 1 of stream conversation-a') as string,
    })
  })
})

describe('content that is missing', () => {
  const large = (text: string) => user(`${text} ${'x'.repeat(100_000)}`)

  /** A store whose content is outside, and what removes all of that. */
  const scene = () => {
    const inner = memoryStore()
    const store = withWholeWrites(withLargeContent(inner, 65_536))
    const lose = async (): Promise<void> => {
      for await (const { sha256 } of inner.blobs.list())
        right(await inner.blobs.remove(sha256, new Date(Date.now() + 60_000))())
    }
    return { store, lose }
  }

  test('ends the index of its conversation, and of no other', async () => {
    const { store, lose } = scene()
    for (const id of ['a', 'b']) await write(store, id, [user('the needle')])
    await write(store, 'c', [user('the needle'), large('the needle'), user('the needle')])
    for (const id of ['d', 'e']) await write(store, id, [large('the needle'), user('the needle')])
    await write(store, 'f', [user('the needle')])
    await lose()
    const catalogue = cataloguing(store)
    expect(await foundIn(catalogue, 'the needle')).toEqual(['f 0', 'c 0', 'b 0', 'a 0'])
    const problem = expect.stringMatching(/conversation-c .* is missing/) as string
    expect(right(await catalogue.outline('c')())).toMatchObject({ last: 2, indexed: 0, problem })
    expect(right(await catalogue.find()())).toMatchObject({ isComplete: true, total: 6 })
    await write(store, 'g', [user('the needle')])
    expect((await foundIn(catalogue, 'the needle'))[0]).toBe('g 0')
  })

  test('that was written in several appends ends the index of its conversation, and of no other', async () => {
    const { store, lose } = scene()
    const written = chainOf('a', [user('the needle'), large('it'), user('the needle'), user('the end')])
    for (const [at, last] of [
      [0, undefined],
      [2, true],
    ] as const) {
      const part = { from: 0, ...(last && { last }) }
      const events = written.slice(at, at + 2)
      right(await store.append({ stream: 'conversation-a', expected: at - 1, events, part })())
    }
    await write(store, 'b', [user('the needle')])
    await lose()
    const catalogue = cataloguing(store)
    expect(await foundIn(catalogue, 'the needle')).toEqual(['b 0'])
    expect(right(await catalogue.outline('a')())).toMatchObject({ last: 3, indexed: -1 })
    expect(right(await catalogue.find()())).toMatchObject({ isComplete: true })
  })

  test.each([
    ['the last event that was indexed', []],
    ['the first one that was not', [large('it')]],
  ])('in %s does not keep an index from being continued', async (_, later) => {
    const { store, lose } = scene()
    const place = join(temporaryFolder(), 'x-index')
    const events = later.length > 0 ? [user('a'), user('b')] : [user('a'), large('b')]
    await write(store, 'a', events)
    const first = cataloguing(store, place)
    right(await first.outline('a')())
    await first.close()
    if (later.length > 0)
      right(
        await store.append({
          stream: 'conversation-a',
          expected: 1,
          events: chainOf('a', [...events, ...later]).slice(2),
        })(),
      )
    await write(store, 'b', [user('the needle')])
    await lose()
    const again = cataloguing(store, place)
    expect(await foundIn(again, 'the needle')).toEqual(['b 0'])
    expect(readdirSync(join(place, '..')).filter((file) => /\d$/.test(file))).toEqual(['x-index.1'])
  })
})

const talk = [user('Why?'), assistant('Line 80.'), condensed(0, 1), user('the needle'), rewound(2)]

describe('a file', () => {
  test.each(['meta', 'threads', 'chunks', 'marks', 'docs', 'words_data'])(
    'whose table %s is damaged is left as soon as that shows',
    async (table) => {
      const place = join(temporaryFolder(), 'x-index')
      const store = memoryStore()
      for (let n = 0; n < 3; n++) await write(store, `a${n}`, talk)
      const before = cataloguing(store, place)
      await foundIn(before, 'the needle')
      await before.close()
      const db = new DatabaseSync(`${place}.1`)
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      const size = Number(db.prepare('PRAGMA page_size').get()?.['page_size'])
      const root = db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table)?.['rootpage']
      db.close()
      const file = openSync(`${place}.1`, 'r+')
      writeSync(file, Buffer.alloc(size, 0xab), 0, size, (Number(root) - 1) * size)
      closeSync(file)
      const catalogue = cataloguing(store, place)
      await write(store, 'b', talk)
      const whole = cataloguing(store)
      for (const id of ['a0', 'a2', 'b']) {
        expect(await catalogue.outline(id)()).toEqual(await whole.outline(id)())
        expect(await catalogue.hidden(id, 2)()).toEqual(await whole.hidden(id, 2)())
      }
      expect(await foundIn(catalogue, 'the needle')).toEqual(await foundIn(whole, 'the needle'))
    },
  )

  test('is read as another process has written it meanwhile', async () => {
    const place = join(temporaryFolder(), 'x-index')
    const store = memoryStore()
    const [one, other] = [feedOf(store, place), feedOf(store, place)]
    atEnd(one.close, other.close)
    const shown = () =>
      one.read(({ threads }) => {
        const thread = threads.find('a')
        return [thread?.row.last, thread?.weave.moments.length]
      })
    const events = chainOf('a', talk)
    for (const [expected, part] of [
      [-1, events.slice(0, 2)],
      [1, events.slice(2)],
    ] as const)
      right(await store.append({ stream: 'conversation-a', expected, events: part })())
    right(await run(one.catchUp(60_000)))
    expect(shown()).toEqual([4, 5])
    right(
      await store.append({
        stream: 'conversation-a',
        expected: 4,
        events: chainOf('a', [...talk, user('Yes?')]).slice(5),
      })(),
    )
    right(await run(other.catchUp(60_000)))
    expect(shown()).toEqual([5, 6])
  })

  test('is not opened again after it was closed', async () => {
    const folder = temporaryFolder()
    const store = memoryStore()
    await write(store, 'a', talk)
    const catalogue = cataloguing(store, join(folder, 'x-index'))
    await catalogue.close()
    for (const asked of [catalogue.outline('a'), catalogue.search('the needle'), catalogue.find()])
      expect(left(await asked())).toMatchObject({ _tag: 'StoreClosed' })
    expect(readdirSync(folder)).toEqual([])
  })
})
