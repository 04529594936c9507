import { describe, expect, test } from 'vitest'
import { diagnose } from '../../../src/api/schemes.ts'
import { event } from '../../../src/testing/contract/support.ts'
import { right } from '../../support/either.ts'
import { administrator, newRole, openedPostgres } from '../../support/postgres/admin.ts'
import { externalUrl, noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { newSchema, postgresUrl } from '../../support/postgres/shared.ts'

const found = async (url: string, check: string) =>
  right(await diagnose(url)()).filter((finding) => finding.check === check)

describe.skipIf(noPostgres !== undefined)(`doctor on PostgreSQL${whySkipped}`, () => {
  test('finds nothing wrong with a store, and writes no event', async () => {
    const url = await postgresUrl()
    const store = await openedPostgres(url)
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    const findings = right(await diagnose(url)())
    // The servers of the tests do not wait for the disk.
    expect(findings.filter(({ status, check }) => status !== 'ok' && check !== 'durability')).toEqual([])
    expect(findings.map(({ check }) => check)).toContain('writes')
    expect(right(await store.readAll({ limit: 5 })()).events).toHaveLength(1)
    expect(await store.liveness?.names()).toEqual([])
  })

  test('finds a store that is missing or newer, and events that are', async () => {
    const schema = newSchema()
    const url = await postgresUrl(schema)
    expect(await found(url, 'schema')).toMatchObject([
      { status: 'problem', message: expect.stringMatching(/no store/) },
    ])
    const store = await openedPostgres(url)
    for (const expected of [-1, 0, 1])
      right(await store.append({ stream: 'a', events: [event()], expected })())
    const admin = await administrator()
    await admin.query(`DELETE FROM ${schema}.events WHERE position = 2`)
    expect(await found(url, 'events')).toMatchObject([{ status: 'problem' }])
    await admin.query(`UPDATE ${schema}.meta SET version = 99`)
    expect(await found(url, 'schema')).toMatchObject([{ status: 'problem' }])
  })

  test('counts a large store in parts, and finds a secret', async () => {
    const schema = newSchema()
    const url = await postgresUrl(schema)
    await openedPostgres(url)
    const admin = await administrator()
    await admin.query(`
      INSERT INTO ${schema}.streams SELECT n, 'conversation-c' || n FROM generate_series(1, 1001) n;
      INSERT INTO ${schema}.events SELECT n, 1, n - 1, '', 'MessageAppended', '', '', NULL FROM generate_series(1, 100010) n;
      INSERT INTO ${schema}.events VALUES (100011, 500, 0, '', 'Configured', '{"parameters":{"authorization_token":"abc"}}', '', NULL)`)
    expect(await found(url, 'events')).toMatchObject([
      { status: 'ok', message: 'all 100011 events are there' },
    ])
    expect(await found(url, 'secrets')).toMatchObject([
      { status: 'warning', message: expect.stringMatching(/in c500 \(only the newest 1000 conversations/) },
    ])
    await admin.query(`DELETE FROM ${schema}.events WHERE position = 9`)
    expect(await found(url, 'events')).toMatchObject([
      { status: 'problem', message: expect.stringMatching(/^1 of the positions 1 to 11 have/) },
    ])
  })

  test.skipIf(externalUrl !== undefined)(
    'finds what a role lacks, and a server that does not answer',
    async () => {
      const schema = newSchema()
      await openedPostgres(await postgresUrl(schema))
      const { role, urlOf } = await newRole(['default_transaction_read_only = on'], '')
      const admin = await administrator()
      await admin.query(
        `GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
      )
      expect(await found(await urlOf(schema), 'permissions')).toMatchObject([{ status: 'problem' }])
      expect(await found(await urlOf(schema), 'writes')).toMatchObject([
        { status: 'problem' },
        { status: 'problem' },
      ])
      expect(await found('postgres://127.0.0.1:1/x', 'connection')).toMatchObject([{ status: 'problem' }])
    },
  )
})
