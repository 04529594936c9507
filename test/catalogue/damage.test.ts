import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { OwnCatalogue } from '../../src/catalogue/catalogue.ts'
import { createFeed } from '../../src/catalogue/feed.ts'
import { run } from '../../src/result/fallible.ts'
import { layeredStore } from '../../src/store/whole/layered-store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { atEnd } from '../support/at-end.ts'
import { left, right } from '../support/either.ts'
import { mountProblem, runMounted } from '../support/node.ts'
import { openStore } from '../../src/index.ts'
import { assistant, condensed, rewound, user } from '../support/log.ts'
import { temporaryFolder } from '../support/stores.ts'
import { chainOf, write } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

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
    const store = layeredStore(inner, 65_536)
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
    const [one, other] = [createFeed(store, place), createFeed(store, place)]
    atEnd(one.close, other.close)
    const shown = () =>
      one.read(({ rows }) => {
        const row = rows.byId('a')
        return [row?.last, row?.messages]
      })
    const events = chainOf('a', talk)
    for (const [expected, part] of [
      [-1, events.slice(0, 2)],
      [1, events.slice(2)],
    ] as const)
      right(await store.append({ stream: 'conversation-a', expected, events: part })())
    right(await run(one.catchUp(60_000)))
    expect(shown()).toEqual([4, 3])
    right(
      await store.append({
        stream: 'conversation-a',
        expected: 4,
        events: chainOf('a', [...talk, user('Yes?')]).slice(5),
      })(),
    )
    right(await run(other.catchUp(60_000)))
    expect(shown()).toEqual([5, 4])
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

describe('a file that is not as it was written', () => {
  const count = 40
  /** A store of many conversations, the place of its index, and what is asked of it. */
  const scene = async () => {
    const place = join(temporaryFolder(), 'x-index')
    const store = memoryStore()
    for (let n = 0; n < count; n++)
      await write(store, `a${n}`, [
        user(`the needle ${n}`),
        assistant(`Line ${n} of many.`.repeat(20)),
        user('Yes?'),
      ])
    return { place, store }
  }
  const askedOf = async (catalogue: OwnCatalogue): Promise<unknown> => {
    const found = right(await catalogue.find({ order: 'id', limit: 1_000 })())
    const hits = right(await catalogue.search('the needle', { limit: 1_000 })())
    const outlines = []
    for (const { id } of found.items) outlines.push(right(await catalogue.outline(id)()).tokens)
    const { total, isComplete } = found
    return { items: found.items, total, isComplete, hits: hits.items, all: hits.isComplete, outlines }
  }
  const damages: Readonly<Record<string, (bytes: Buffer, at: number) => void>> = {
    '512 bytes of zeros': (bytes, at) => bytes.fill(0, at, Math.min(at + 512, bytes.length)),
    'one bit': (bytes, at) => {
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
    },
  }
  const places = 20

  test.each(Object.entries(damages))('is left, and built again, wherever it is: %s', async (_, damage) => {
    const { place, store } = await scene()
    const before = cataloguing(store, place)
    const whole = await askedOf(before)
    expect(whole).toMatchObject({ total: count, isComplete: true, all: true, hits: { length: count } })
    await before.close()
    const file = readFileSync(`${place}.1`)
    const sums = readFileSync(`${place}.1-sums`)
    const at = Array.from({ length: places }).map((_one, n) =>
      Math.floor((file.length * (n + Math.random())) / places),
    )
    // What is read first, and what statements are compiled from.
    const early = ['{"checkpoint"', 'value TEXT'].map((text) => file.indexOf(text))
    for (const where of [...at, ...early]) {
      const damaged = Buffer.from(file)
      damage(damaged, where)
      for (const name of readdirSync(dirname(place))) rmSync(join(dirname(place), name))
      writeFileSync(`${place}.1`, damaged)
      writeFileSync(`${place}.1-sums`, sums)
      const catalogue = cataloguing(store, place)
      expect(await askedOf(catalogue)).toEqual(whole)
      await catalogue.close()
      // Zeros may have been there before.
      const isSame = damaged.equals(file)
      expect(readdirSync(dirname(place)).toSorted()).toEqual(
        isSame ? ['x-index.1', 'x-index.1-sums'] : ['x-index.2', 'x-index.2-sums'],
      )
    }
  })

  test.each(Object.entries(damages))('while it is open: %s', async (_, damage) => {
    const { place, store } = await scene()
    const catalogue = cataloguing(store, place)
    const whole = await askedOf(catalogue)
    await catalogue.close()
    const again = cataloguing(store, place)
    expect(await askedOf(again)).toEqual(whole)
    const file = readFileSync(`${place}.1`)
    for (let at = 5_000; at < file.length; at += 4_096) damage(file, at)
    // Its own descriptor: another one of this process would drop the locks when it is closed.
    execFileSync('sh', ['-c', 'cat > "$0"', `${place}.1`], { input: file })
    expect(await askedOf(again)).toEqual(whole)
    expect(existsSync(`${place}.2`)).toBe(true)
  })

  test('also where a page was moved out of the WAL, which still has it', async () => {
    const { place, store } = await scene()
    const catalogue = cataloguing(store, place)
    await askedOf(catalogue)
    for (let n = 0; !existsSync(`${place}.1-sums`); n++) {
      await write(store, `b${n}`, [user(randomBytes(60_000).toString('base64'))])
      await foundIn(catalogue, 'the needle')
    }
    const whole = await askedOf(catalogue)
    const page = readFileSync(`${place}.1-wal`).readUInt32BE(32)
    const file = readFileSync(`${place}.1`)
    damages['one bit']?.(file, page * 4_096 - 1)
    execFileSync('sh', ['-c', 'cat > "$0"', `${place}.1`], { input: file })
    expect(await askedOf(catalogue)).toEqual(whole)
    expect(existsSync(`${place}.2`)).toBe(true)
  })

  test('is compared a little more whenever something is asked, though nobody seems to have written to it', async () => {
    const { place, store } = await scene()
    const catalogue = cataloguing(store, place)
    const whole = await askedOf(catalogue)
    await catalogue.close()
    const again = cataloguing(store, place)
    await askedOf(again)
    const { atime, mtime } = statSync(`${place}.1`)
    const file = readFileSync(`${place}.1`)
    for (let at = 5_000; at < file.length; at += 4_096) damages['one bit']?.(file, at)
    execFileSync('sh', ['-c', 'cat > "$0"', `${place}.1`], { input: file })
    utimesSync(`${place}.1`, atime, mtime)
    expect(await askedOf(again)).toEqual(whole)
    expect(existsSync(`${place}.2`)).toBe(true)
  })

  test('and one without its sums is built again', async () => {
    const { place, store } = await scene()
    const before = cataloguing(store, place)
    const whole = await askedOf(before)
    await before.close()
    rmSync(`${place}.1-sums`)
    expect(await askedOf(cataloguing(store, place))).toEqual(whole)
    expect(existsSync(`${place}.2`)).toBe(true)
  })

  test('but one that was killed, is shared, and grows stays whole', async () => {
    const { place, store } = await scene()
    const [one, other] = [cataloguing(store, place), cataloguing(store, place)]
    // The pages are moved into the file three times.
    for (let n = 0; n < 16; n++) {
      await write(store, `b${n}`, [user(`the needle ${n} ${randomBytes(60_000).toString('base64')}`)])
      const found = new Set<string>()
      // However many answers a busy machine needs for it.
      for (let cursor: string | undefined, isMore = true; isMore; isMore = cursor !== undefined) {
        const page = right(await (n % 2 ? one : other).search('the needle', { limit: 1_000, cursor })())
        for (const { conversation, position } of page.items) found.add(`${conversation} ${position}`)
        cursor = page.next
      }
      expect(found.size).toBe(count + 1 + n)
    }
    // As a process leaves it that is killed.
    const folder = temporaryFolder()
    execFileSync('sh', ['-c', 'cp "$0".1 "$0".1-wal "$0".1-sums "$1"', place, folder])
    const killed = cataloguing(store, join(folder, 'x-index'))
    expect(await askedOf(killed)).toEqual(await askedOf(one))
    await one.close()
    await other.close()
    expect(await askedOf(cataloguing(store, place))).toEqual(await askedOf(killed))
    for (const path of [place, join(folder, 'x-index')]) expect(existsSync(`${path}.2`)).toBe(false)
  })
})

test.skipIf(mountProblem !== undefined)(
  `a disk that fills while the index is made leaves it in memory, which is said${mountProblem === undefined ? '' : ` (skipped: ${mountProblem})`}`,
  async () => {
    const path = join(temporaryFolder(), 'store.db')
    const store = await openStore(`sqlite:${path}`)
    const long = (n: number) => `the needle ${n} ${randomBytes(6_000).toString('base64')}`
    for (let n = 0; n < 100; n++) await store.conversation(`a${n}`).append({ role: 'user', content: long(n) })
    await store.close()
    const folder = temporaryFolder()
    for (const size of ['64k', '400k']) {
      const printed = runMounted(
        `mount -t tmpfs -o size=${size} none ${folder}`,
        'catalogue/children/full.ts',
        path,
        folder,
      )
      const problem = expect.stringContaining('it is kept in memory') as string
      const said = JSON.parse(printed) as readonly object[]
      expect(said[0]).toMatchObject({ isComplete: true, problem, why: problem })
      expect(said[1]).toMatchObject({ isComplete: true, problem, why: problem })
      expect(said.map((one) => Reflect.get(one, 'hits'))).toEqual(size === '64k' ? [100, 101] : [102, 103])
    }
  },
)

test.skipIf(mountProblem !== undefined)(
  `an index that cannot be written is named, with what to do, by doctor, too${mountProblem === undefined ? '' : ` (skipped: ${mountProblem})`}`,
  async () => {
    const path = join(temporaryFolder(), 'store.db')
    const store = await openStore(`sqlite:${path}`)
    await store.conversation('a').append({ role: 'user', content: 'Hi' })
    await store.catalogue.find({ limit: 1 })
    await store.conversation('a').append({ role: 'user', content: 'later' })
    await store.close()
    const index = `${path}-index.1`
    const printed = runMounted(
      `mount --bind ${index} ${index} && mount -o remount,ro,bind ${index}`,
      'catalogue/children/unwritable.ts',
      `sqlite:${path}`,
    )
    const advice = `this user cannot write ${index}: give the owner of the store these files (chown), or delete them`
    expect(printed).toContain(`the index cannot be kept in a file (${advice})`)
    expect(printed).toContain(`warning\tindex\t${advice}\n`)
  },
)
