import { once } from 'node:events'
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatVersion } from '../../src/catalogue/schema.ts'
import type { OwnCatalogue } from '../../src/catalogue/catalogue.ts'
import { openEvents } from '../../src/api/open.ts'
import type { Event } from '../../src/events/events.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { atEnd } from '../support/at-end.ts'
import { right } from '../support/either.ts'
import { writeForked } from '../support/forked.ts'
import { histories } from '../support/histories.ts'
import { assistant, condensed, restored, rewound, user } from '../support/log.ts'
import { endsWithTest, start } from '../support/node.ts'
import { runs, some } from '../support/runs.ts'
import { temporaryFolder } from '../support/stores.ts'
import { chainOf, write } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

/** A catalogue that is closed after the test, if it was not before. */
const cataloguing = (store: EventStore, place?: string): OwnCatalogue => {
  const catalogue = catalogueOf(store, place)
  atEnd(catalogue.close)
  return catalogue
}
const placeIn = (folder: string): string => join(folder, 'x-index')
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder).filter((file) => /^x-index\.\d+$/.test(file))

/** All that a catalogue says of a conversation. */
const saidOf = async (catalogue: OwnCatalogue, id: string): Promise<unknown> => {
  const outline = right(await catalogue.outline(id)())
  const hidden = []
  for (const { position } of outline.markers) hidden.push(right(await catalogue.hidden(id, position)()))
  return { outline, hidden, overview: right(await catalogue.overview(id, { buckets: 7 })()) }
}

/** Counts the events that are read of all streams. */
const counting = (store: EventStore) => {
  let events = 0
  const counted: EventStore = {
    ...store,
    readAll: (range) => async () => {
      const page = await store.readAll(range)()
      if (page._tag === 'Right') events += page.right.events.length
      return page
    },
  }
  return { store: counted, events: () => events }
}

/** Returns a function that returns texts of random letters, the same for the same seed. */
const lettersFrom = (seed: number): ((length: number) => string) => {
  let state = seed
  const letter = (): string => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return String.fromCharCode(97 + Math.floor((state / 2 ** 32) * 26))
  }
  return (length) => Array.from({ length }, letter).join('')
}

const talk: readonly Event[] = [
  user('Why does the parser fail?'),
  assistant('Line 80.'),
  condensed(0, 1),
  user('And then?'),
  rewound(1),
  restored(2),
]

describe('the file of a catalogue', () => {
  test('is continued by who opens it next, as if one had read everything at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        histories(60),
        fc.array(fc.nat(200), { maxLength: 2 }),
        fc.nat(),
        async (log, cuts, when) => {
          const folder = temporaryFolder()
          const whole = memoryStore()
          const { id, log: all } = await writeForked(whole, log, cuts)
          if (all.length === 0) return
          // A store that grows to the whole one.
          const page = right(await whole.readAll({ limit: 1_000 })())
          const first = when % page.events.length
          const store = memoryStore()
          for (const [index, { stream, revision, ...event }] of page.events.entries()) {
            if (index === first) {
              const catalogue = catalogueOf(store, placeIn(folder))
              await catalogue.outline('c0')()
              await catalogue.close()
            }
            right(await store.append({ stream, expected: revision - 1, events: [event] })())
          }
          const { store: counted, events } = counting(store)
          const [one, other] = [catalogueOf(counted, placeIn(folder)), catalogueOf(store, undefined)]
          expect(await saidOf(one, id)).toEqual(await saidOf(other, id))
          expect(events()).toBeLessThanOrEqual(page.events.length - first + 1)
          await one.close()
          await other.close()
        },
      ),
      { numRuns: runs(30) },
    )
  })

  test('is made again when it was deleted, and is readable by its owner only', async () => {
    const folder = temporaryFolder()
    const store = memoryStore()
    await write(store, 'a', talk)
    const before = cataloguing(store, placeIn(folder))
    const said = await saidOf(before, 'a')
    await before.close()
    expect(statSync(join(folder, 'x-index.1')).mode & 0o077).toBe(0)
    for (const file of readdirSync(folder)) rmSync(join(folder, file))
    expect(await saidOf(cataloguing(store, placeIn(folder)), 'a')).toEqual(said)
    expect(filesIn(folder)).toEqual(['x-index.1'])
  })

  const damages: Readonly<Record<string, (file: string) => void>> = {
    'no database': (file) => writeFileSync(file, 'This is no database.'.repeat(1_000)),
    'cut off': (file) => truncateSync(file, 8_192),
    'of the format before this one': (file) => {
      const db = new DatabaseSync(file)
      db.exec(`DROP TABLE titles; PRAGMA user_version = ${formatVersion - 1}`)
      db.close()
    },
    'of another format': (file) => {
      const db = new DatabaseSync(file)
      db.exec('PRAGMA user_version = 9999')
      db.close()
    },
  }
  test.each(Object.entries(damages))('that is %s is left, and another one made', async (_, damage) => {
    const folder = temporaryFolder()
    const store = memoryStore()
    for (let n = 0; n < 30; n++) await write(store, `a${n}`, talk)
    const before = cataloguing(store, placeIn(folder))
    const said = await saidOf(before, 'a7')
    await before.close()
    damage(join(folder, 'x-index.1'))
    expect(await saidOf(cataloguing(store, placeIn(folder)), 'a7')).toEqual(said)
    expect(filesIn(folder)).toEqual(['x-index.2'])
  })

  test('of another store is made again', async () => {
    const folder = temporaryFolder()
    const [one, other] = [memoryStore(), memoryStore()]
    await write(one, 'a', talk)
    await write(other, 'a', talk.slice(0, 2).toReversed())
    const first = cataloguing(one, placeIn(folder))
    await saidOf(first, 'a')
    await first.close()
    const { outline } = (await saidOf(cataloguing(other, placeIn(folder)), 'a')) as { outline: object }
    expect(outline).toMatchObject({ kinds: 'au', last: 1, indexed: 1 })
  })

  test('updates its checksums once in a while, not in each transaction', async () => {
    const place = placeIn(temporaryFolder())
    const store = memoryStore()
    const [catalogue, texts] = [cataloguing(store, place), lettersFrom(1)]
    const events = Array.from({ length: 40 }, () => user(texts(40_000)))
    await write(store, 'long', events)
    right(await catalogue.find()())
    const timeOfSums = (): bigint => statSync(`${place}.1-sums`, { bigint: true }).mtimeNs
    const times = new Set([timeOfSums()])
    for (let n = 0; n < 20; n++) {
      await write(store, `short-${n}`, [user('Why?')])
      right(await catalogue.find()())
      times.add(timeOfSums())
    }
    expect(times.size).toBeLessThan(4)
  })

  test('is in memory where nothing can be written', async () => {
    const store = memoryStore()
    await write(store, 'a', talk)
    const catalogue = cataloguing(store, join(temporaryFolder(), 'none', 'x-index'))
    expect(await saidOf(catalogue, 'a')).toMatchObject({ outline: { kinds: 'uaCuWR' } })
  })

  test('may be written by several at once', async () => {
    const place = placeIn(temporaryFolder())
    const store = memoryStore()
    const writers = [1, 2, 3].map(() => cataloguing(store, place))
    for (let round = 0; round < 10; round++) {
      for (const n of talk.keys()) {
        const events = chainOf(`a${round}`, talk).slice(n, n + 1)
        right(await store.append({ stream: `conversation-a${round}`, expected: n - 1, events })())
        const asked = writers.slice(0, 1 + (n % 3))
        const said = await Promise.all(asked.map((one) => saidOf(one, `a${round}`)))
        for (const one of said) expect(one).toMatchObject({ outline: { last: n, indexed: n } })
      }
    }
    const alone = cataloguing(store)
    for (let round = 0; round < 10; round++)
      for (const one of writers)
        expect(await saidOf(one, `a${round}`)).toEqual(await saidOf(alone, `a${round}`))
  })
})

test('an index whose process is killed at any event is continued without a gap or a repeat', async () => {
  const folder = temporaryFolder()
  const url = `sqlite:${join(folder, 'store.db')}?synchronous=off`
  const store = right(await openEvents(url)())
  atEnd(() => store.close()())
  const long = 'What is said here is long enough to take the index a while. '.repeat(20)
  const events = Array.from({ length: 1_500 }, (_, n) =>
    n % 100 === 99 ? condensed(n - 20, n - 1) : n % 2 === 0 ? user(`${long}${n}`) : assistant(`${n}`),
  )
  await write(store, 'a', events)
  for (const revision of some([0, 1, 150, 333, 512, 730, 1_100, 1_499])) {
    const child = start('catalogue/children/indexer.ts', url, placeIn(folder), 'a', `${revision}`)
    endsWithTest(child)
    await once(child, 'exit')
    expect(child.signalCode).toBe('SIGKILL')
  }
  const [continued, ownIndex] = [cataloguing(store, placeIn(folder)), cataloguing(store)]
  for (const catalogue of [continued, ownIndex])
    await expect.poll(async () => right(await catalogue.outline('a')()).indexed).toBe(events.length - 1)
  expect(await saidOf(continued, 'a')).toEqual(await saidOf(ownIndex, 'a'))
})
