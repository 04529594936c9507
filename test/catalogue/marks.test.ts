import { join } from 'node:path'
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFeed } from '../../src/catalogue/feed.ts'
import { openFile } from '../../src/catalogue/file.ts'
import { indexFileOf } from '../../src/catalogue/index-file.ts'
import type { Event } from '../../src/events/events.ts'
import { run } from '../../src/result/fallible.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { hiddenBy, outlineBy, toolsOf } from '../support/catalogue/model.ts'
import { storedForked } from '../support/catalogue/stored.ts'
import { right } from '../support/either.ts'
import {
  assistant,
  condensed,
  configured,
  eventAt,
  restored,
  rewound,
  toolUse,
  truncated,
  user,
} from '../support/log.ts'
import { runs } from '../support/runs.ts'
import { temporaryFolder } from '../support/stores.ts'
import { chainOf } from '../support/write.ts'
import { catalogueOf } from '../support/catalogue/patient.ts'

/** Counts what is read with the statements of a connection. */
const counting = (db: DatabaseSync): (() => number) => {
  let rows = 0
  const prepare = db.prepare.bind(db)
  db.prepare = (sql) => {
    const statement = prepare(sql)
    const [get, all] = [statement.get.bind(statement), statement.all.bind(statement)]
    const counted = {
      get: (...given: SQLInputValue[]) => {
        const row = get(...given)
        if (row) rows++
        return row
      },
      all: (...given: SQLInputValue[]) => {
        const found = all(...given)
        rows += found.length
        return found
      },
    }
    return Object.assign(statement, counted)
  }
  return () => rows
}

describe('one more event', () => {
  /** What is read for each of some events that come after so many, by whoever has read nothing before. */
  const readAfter = async (length: number): Promise<Readonly<Record<string, number>>> => {
    const store = memoryStore()
    const before = Array.from({ length }, (_, n) =>
      n % 2 ? assistant([toolUse(`${n}`)]) : n % 20 ? user('Yes?') : configured({ system: 'Be brief.' }),
    )
    const events: Readonly<Record<string, Event>> = {
      message: user('One more.'),
      rewind: rewound(length - 20),
      configuration: configured({ system: 'Be very brief.' }),
      condensation: condensed(length - 30, length - 25),
      truncation: truncated(length - 40, length + 3),
      restore: restored(length + 4),
      'rewind of all': rewound(1),
    }
    const place = join(temporaryFolder(), 'x-index')
    const stored = chainOf('a', [...before, ...Object.values(events)])
    const stream = 'conversation-a'
    right(await store.append({ stream, expected: -1, events: stored.slice(0, length) })())
    const feed = createFeed(store, place)
    right(await run(feed.catchUp(600_000)))
    await feed.close()
    right(await store.append({ stream, expected: length - 1, events: stored.slice(length) })())
    const news = right(await store.read({ stream, from: length, direction: 'forwards', limit: 100 })())
    return Object.fromEntries(
      Object.keys(events).map((name, index) => {
        const { db, close } = openFile(place)
        const read = counting(db)
        indexFileOf(db).take(news.slice(index, index + 1), undefined, undefined)
        close()
        return [name, read()]
      }),
    )
  }

  test('costs the same after many as after few, whoever has indexed them', async () => {
    // In each round chunks end and marks have what is shown at the same places.
    const round = 5 * 512
    const few = await readAfter(round + 100)
    expect(await readAfter(5 * round + 100)).toEqual(few)
    expect(Math.max(...Object.values(few))).toBeLessThan(30)
  })
})

test('a long conversation with many marks is outlined as by the plain fold', async () => {
  /** What a number stands for at a position: mostly messages, and what changes something shortly before. */
  const eventOf = ([kind, back, more]: readonly [number, number, number], position: number): Event => {
    const first = position - 1 - back
    if (kind < 4 || first < 0) return kind % 2 ? user(`${position}`) : assistant([toolUse(`${position}`)])
    if (kind < 7) return rewound(first)
    if (kind < 8) return configured({ system: 'x'.repeat(back) })
    if (kind < 10) return restored(first)
    return (kind < 12 ? condensed : truncated)(first, Math.min(position - 1, first + more))
  }
  const numbers = fc.tuple(fc.nat(13), fc.nat(12), fc.nat(4))
  await fc.assert(
    fc.asyncProperty(
      fc.array(numbers, { minLength: 300, maxLength: 600 }),
      fc.array(fc.nat(300), { maxLength: 3 }),
      async (all, cuts) => {
        const any = all.map((one, position) => eventAt(eventOf(one, position), position))
        const { store, id, log } = await storedForked(any, cuts)
        const catalogue = catalogueOf(store, undefined)
        const { last, indexed, tokens: _, ...outline } = right(await catalogue.outline(id)())
        expect([last, indexed]).toEqual([log.length - 1, log.length - 1])
        expect(outline).toEqual(outlineBy(log))
        for (const { position, type } of log) {
          if (type !== 'Condensed' && type !== 'Truncated') continue
          const found = right(await catalogue.hidden(id, position)())
          expect(found && Object.fromEntries(found.tools)).toEqual(
            hiddenBy(log, position) && toolsOf(hiddenBy(log, position) ?? []),
          )
        }
        await catalogue.close()
      },
    ),
    { numRuns: runs(20) },
  )
})
