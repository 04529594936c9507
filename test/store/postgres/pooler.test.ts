import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { diagnose } from '../../../src/api/schemes.ts'
import { lockKey } from '../../../src/store/postgres/settings.ts'
import { storeContract } from '../../../src/testing/contract.ts'
import { event } from '../../../src/testing/contract/support.ts'
import { atEnd } from '../../support/at-end.ts'
import { right } from '../../support/either.ts'
import { administrator, newRole, openedPostgres } from '../../support/postgres/admin.ts'
import { followed, writtenAtOnce } from '../../support/postgres/order.ts'
import { externalUrl, noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { type TransactionPooler, poolerTo } from '../../support/postgres/pooler.ts'
import { newSchema, postgresUrl } from '../../support/postgres/shared.ts'
import { runs, scale } from '../../support/runs.ts'

/** The URL of a store through a pooler with so many sessions. */
const pooled = async (
  sessions: number,
  url?: string,
): Promise<{ readonly url: string; readonly pooler: TransactionPooler }> => {
  const direct = url ?? (await postgresUrl())
  const port = Number(/:(\d+)\//.exec(direct)?.[1])
  const pooler = await poolerTo(port, sessions)
  return { url: direct.replace(`:${port}/`, `:${pooler.port}/`), pooler }
}

const client = async (url: string): Promise<pg.Client> => {
  const opened = new pg.Client({ connectionString: url.replace(/\?.*/, '') })
  opened.on('error', () => undefined)
  await opened.connect()
  atEnd(() => opened.end())
  return opened
}

/** The rules of the contract that races and transactions may break. */
const races = storeContract.filter(({ title }) => /^(?:of )?concurrent/.test(title))

/** Rules that sessions of others may break, for a short dose. */
const essential = storeContract.filter(({ title }) =>
  /concurrent|every byte value|one global order/.test(title),
)

// A server of others may want passwords, which the stand-in does not know.
const isOwn = noPostgres === undefined && externalUrl === undefined

describe.skipIf(!isOwn)(`PostgreSQL through a pooler in transaction mode${whySkipped}`, () => {
  test('where sessions are shared: named statements, settings, locks and LISTEN are nobody’s', async () => {
    const { url } = await pooled(2)
    const [one, other] = [await client(url), await client(url)]
    const pidOf = async (of: pg.Client): Promise<unknown> =>
      (await of.query('SELECT pg_backend_pid() AS pid')).rows[0]
    await one.query('BEGIN')
    const held = await pidOf(one)
    for (let n = 0; n < 3; n++) expect(await pidOf(other)).not.toEqual(held)
    expect(await pidOf(one)).toEqual(held)
    await one.query('COMMIT')
    const { url: single } = await pooled(1)
    const [first, second] = [await client(single), await client(single)]
    const named = { name: 'n', text: 'SELECT 1' }
    await first.query(named)
    await expect(second.query(named)).rejects.toMatchObject({ code: '42P05' })
    await first.query(`SET work_mem = '123kB'; SELECT pg_advisory_lock(7); LISTEN x`)
    expect(
      (await second.query('SELECT pg_try_advisory_lock(7) AS got, current_setting($1) AS mem', ['work_mem']))
        .rows,
    ).toEqual([{ got: true, mem: '123kB' }])
    let notified = 0
    for (const each of [first, second]) each.on('notification', () => notified++)
    await second.query('NOTIFY x')
    await first.query('SELECT 1')
    expect(notified).toBe(0)
    const options = new pg.Client({
      connectionString: url.replace(/\?.*/, ''),
      options: '-c search_path=pg_catalog',
    })
    options.on('error', () => undefined)
    await expect(options.connect()).rejects.toMatchObject({ code: '08P01' })
  })

  test.each(scale < 1 ? essential : storeContract)('$title', async ({ run }) => {
    const { url, pooler } = await pooled(3)
    const store = await openedPostgres(url)
    await expect(run(store)).resolves.toBeUndefined()
    expect(pooler.lent()).toBeGreaterThan(0)
  })

  test('a role with another isolation level keeps the rules about concurrent appends', async () => {
    const { urlOf } = await newRole([`default_transaction_isolation = 'repeatable read'`])
    for (const { run } of races) {
      const { url } = await pooled(3, await urlOf(newSchema()))
      await expect(run(await openedPostgres(url))).resolves.toBeUndefined()
    }
  })

  test('followers beside more writers than there are sessions miss nothing', async () => {
    const { url } = await pooled(4)
    await openedPostgres(url)
    const each = runs(50)
    const total = 6 * each
    const followers = await Promise.all(Array.from({ length: 2 }, () => openedPostgres(url)))
    const seen = followers.map((store) => followed(store, total))
    const writers = await Promise.all(Array.from({ length: 6 }, () => openedPostgres(url)))
    const written = await writtenAtOnce(writers, each)
    const [first, second] = await Promise.all(seen)
    expect(first?.toSorted()).toEqual(written.toSorted())
    expect(second).toEqual(first)
  })

  test('no name is held, no lock is left, and doctor says that there is a pooler', async () => {
    const { url } = await pooled(2)
    const store = await openedPostgres(url)
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    expect(await store.liveness?.hold('a')).toBeUndefined()
    expect(await store.liveness?.names()).toEqual([])
    expect(await store.liveness?.inherit('a')).toBeUndefined()
    const admin = await administrator(url.replace(/:\d+\//, await direct()))
    const { rows } = await admin.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2`)
    expect(rows).toEqual([])
    const findings = right(await diagnose(url)())
    expect(findings.filter(({ check }) => check === 'pooler')).toMatchObject([{ status: 'warning' }])
    expect(findings.filter(({ status, check }) => status === 'problem' && check !== 'durability')).toEqual([])
  })

  test('a client that leaves in the middle of an append holds up nobody', async () => {
    const schema = newSchema()
    const { url } = await pooled(2, await postgresUrl(schema))
    const store = await openedPostgres(url)
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    const leaving = await client(url)
    await leaving.query('BEGIN')
    await leaving.query(`SELECT pg_advisory_xact_lock(${lockKey(schema, 'append')})`)
    const append = store.append({ stream: 'a', events: [event()], expected: 0 })()
    Reflect.get(leaving, 'connection').stream.destroy()
    right(await append)
    const after = await store.append({ stream: 'a', events: [event()], expected: 1 })()
    expect(right(after)).toBe('written')
  })
})

const direct = async (): Promise<string> => /:\d+\//.exec(await postgresUrl())?.[0] ?? ''
