import { describe, expect, test } from 'vitest'
import { openPostgres } from '../../../src/store/postgres/store.ts'
import type { FollowItem } from '../../../src/store/port.ts'
import { event } from '../../../src/testing/contract/support.ts'
import { right } from '../../support/either.ts'
import { administrator, openedPostgres } from '../../support/postgres/admin.ts'
import { noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { followed, writtenAtOnce } from '../../support/postgres/order.ts'
import { newSchema, postgresUrl } from '../../support/postgres/shared.ts'
import { runs } from '../../support/runs.ts'

describe.skipIf(noPostgres !== undefined)(`the order of all events on PostgreSQL${whySkipped}`, () => {
  test('is one for four followers beside eight writers: they miss nothing', async () => {
    const url = await postgresUrl()
    await openedPostgres(url)
    // PALIMPSEST_RUNS=62.5 makes it 100,000 events.
    const each = runs(200)
    const writers = await Promise.all(Array.from({ length: 8 }, () => openedPostgres(url)))
    const followers = await Promise.all(Array.from({ length: 4 }, () => openedPostgres(url)))
    const seen = followers.map((store) => followed(store, 8 * each))
    const written = await writtenAtOnce(writers, each)
    const [first, ...others] = await Promise.all(seen)
    expect(first?.toSorted()).toEqual(written.toSorted())
    for (const other of others) expect(other).toEqual(first)
    const positions = await (
      await administrator()
    ).query(`SELECT max(position)::int AS last, count(*)::int AS n FROM ${schemaIn(url)}.events`)
    expect(positions.rows).toEqual([{ last: 8 * each, n: 8 * each }])
  })

  test('and checkpoints survive a dump and a restore, in which rows come in another order', async () => {
    const url = await postgresUrl()
    const store = await openedPostgres(url)
    const events = Array.from({ length: 20 }, (_, n) => event(`${n}`))
    for (const [n, one] of events.entries())
      right(await store.append({ stream: `s${n % 3}`, events: [one], expected: Math.floor(n / 3) - 1 })())
    const items: FollowItem[] = []
    for await (const item of store.follow({})) if (items.push(item) === 10) break
    const restored = newSchema()
    const to = await openedPostgres(await postgresUrl(restored))
    const admin = await administrator()
    for (const table of ['streams', 'events'])
      await admin.query(
        `INSERT INTO ${restored}.${table} SELECT * FROM ${schemaIn(url)}.${table} ORDER BY random()`,
      )
    const next = event('next')
    right(await to.append({ stream: 'later', events: [next], expected: -1 })())
    const rest = await followed(to, 11, items.at(-1)?.checkpoint)
    expect(rest).toEqual([...events.slice(10), next].map(({ id }) => id))
  })

  test('a store that was written by two programs at once is created once', async () => {
    const url = await postgresUrl()
    const opened = await Promise.all(Array.from({ length: 8 }, () => openPostgres(url)()))
    for (const store of opened) await right(store).close()()
    const admin = await administrator()
    expect((await admin.query(`SELECT version FROM ${schemaIn(url)}.meta`)).rows).toEqual([{ version: 1 }])
  })
})

const schemaIn = (url: string): string => /schema=([a-z0-9_]+)/.exec(url)?.[1] ?? ''
