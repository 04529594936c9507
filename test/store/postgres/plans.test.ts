import { describe, expect, test } from 'vitest'
import { event } from '../../../src/testing/contract/support.ts'
import { postgresReads } from '../../../src/store/postgres/reads.ts'
import { openSession } from '../../../src/store/postgres/session.ts'
import { postgresSettings } from '../../../src/store/postgres/settings.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { administrator, openedPostgres } from '../../support/postgres/admin.ts'
import { noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { newSchema, postgresUrl } from '../../support/postgres/shared.ts'

describe.skipIf(noPostgres !== undefined)(`reads of a large PostgreSQL store${whySkipped}`, () => {
  test('of what is new, also within an append, do not read all events or all streams, also before the tables were analysed', async () => {
    const schema = newSchema()
    const url = await postgresUrl(schema)
    await openedPostgres(url)
    const admin = await administrator()
    await admin.query(`
      ALTER TABLE ${schema}.events SET (autovacuum_enabled = off);
      INSERT INTO ${schema}.streams SELECT n, 'conversation-c' || n FROM generate_series(1, 5000) n;
      INSERT INTO ${schema}.events SELECT n, 1 + n % 5000, n / 5000, 'e' || n, 'MessageAppended', repeat('x', 200), '{}', NULL
        FROM generate_series(1, 20000) n`)
    const store = await openedPostgres(url)
    const work = async (): Promise<{ readonly rows: number; readonly scans: number }> => {
      const { rows } = await admin.query<{ readonly rows: number; readonly scans: number }>(
        `SELECT sum(seq_tup_read + idx_tup_fetch)::int AS rows, sum(idx_scan)::int AS scans
         FROM pg_stat_user_tables WHERE schemaname = $1 AND relname IN ('events', 'streams')`,
        [schema],
      )
      return rows[0] ?? { rows: 0, scans: 0 }
    }
    const before = await work()
    const { checkpoint } = right(await store.changed('conversation-', undefined)())
    // The server plans anew for some time, then keeps a plan.
    for (let n = 0; n < 8; n++) {
      const read = { after: checkpoint, limit: 1_000, prefixes: ['conversation-', 'notes-'] }
      expect(right(await store.readAll(read)()).events).toEqual([])
      expect(right(await store.changed('conversation-', checkpoint)()).streams?.size).toBe(0)
    }
    for (const [n, prefix] of [...Array<string>(8).fill('conversation-c1'), 'none-'].entries()) {
      const unwritten = { prefix, since: String(checkpoint) }
      const request = { stream: 'beside', events: [event()], expected: n - 1, unwritten }
      expect(right(await store.append(request)())).toBe('written')
    }
    // A session reports its reads when it ends.
    await store.close()()
    await expect.poll(async () => (await work()).scans - before.scans).toBeGreaterThanOrEqual(25)
    expect((await work()).rows - before.rows).toBeLessThan(5_000)
  })

  test('are planned once in a session', async () => {
    const url = await postgresUrl()
    const store = await openedPostgres(url)
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    const settings = right(postgresSettings(url))
    const session = await openSession(settings)
    atEnd(session.end)
    const reads = postgresReads(settings)
    for (let n = 0; n < 7; n++) {
      await reads.page({ stream: 'a', from: n, direction: 'backwards', limit: n + 1 })(session)
      await reads.page({ stream: 'a', from: n, direction: 'forwards', limit: n + 1 })(session)
      await reads.beginnings(['a', 'b'].slice(n % 2), 4)(session)
      await reads.changed('a', undefined)(session)
      await reads.all({ limit: n + 1 })(session)
    }
    const planned = await session.query(
      `SELECT p.name FROM pg_prepared_statements p WHERE to_jsonb(p) ->> 'custom_plans' <> '0'`,
    )
    expect(planned).toEqual([])
  })
})
