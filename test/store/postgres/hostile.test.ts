import { createHash } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { describe, expect, test } from 'vitest'
import { openPostgres } from '../../../src/store/postgres/store.ts'
import { lockKey } from '../../../src/store/postgres/settings.ts'
import { storeContract } from '../../../src/testing/contract.ts'
import { event, texts } from '../../../src/testing/contract/support.ts'
import { left, right } from '../../support/either.ts'
import { administrator, newRole, openedPostgres } from '../../support/postgres/admin.ts'
import { externalUrl, noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { cutAfter, proxyTo } from '../../support/postgres/proxy.ts'
import { newSchema, postgresUrl } from '../../support/postgres/shared.ts'
import { runs } from '../../support/runs.ts'

const all = { from: 0, direction: 'forwards', limit: 1_000 } as const

/** The rules of the contract that races and transactions may break. */
const races = storeContract.filter(({ title }) => /^(?:of )?concurrent/.test(title))

/** Tests that need roles without a password are skipped on the server of others. */
const isShared = externalUrl !== undefined

const throughProxy = async (url: string) => {
  const port = Number(/:(\d+)\//.exec(url)?.[1])
  const proxy = await proxyTo(port)
  return { proxy, url: url.replace(`:${port}/`, `:${proxy.port}/`) }
}

describe.skipIf(noPostgres !== undefined)(`a PostgreSQL store in hostile hands${whySkipped}`, () => {
  test('an append whose last bytes never arrive does not keep others from appending, and is written', async () => {
    const url = await postgresUrl(newSchema(), '&attempt=60000&patience=120000&timeout=60000')
    const other = await openedPostgres(url)
    const { proxy, url: proxied } = await throughProxy(url)
    const store = await openedPostgres(proxied)
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    let isHeld = false
    proxy.toServer = (chunk) => {
      // The message Sync, which ends a call, is five bytes long.
      if (isHeld || !chunk.includes('palimpsest-marker')) return chunk
      isHeld = true
      return chunk.subarray(0, -5)
    }
    const marked = { ...event(), data: '"palimpsest-marker"' }
    const stuck = store.append({ stream: 'a', events: [marked], expected: 0 })()
    const admin = await administrator(url)
    const isLocked = async (): Promise<boolean> =>
      (await admin.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'`)).rows
        .length > 0
    while (!isHeld || !(await isLocked())) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(right(await other.append({ stream: 'b', events: [event()], expected: -1 })())).toBe('written')
    expect(['written', 'repeated']).toContain(right(await stuck))
    const read = right(await other.read({ stream: 'a', ...all })())
    expect(read.map(({ id }) => id).filter((id) => id === marked.id)).toHaveLength(1)
  })

  test('an append over a connection that is cut at any byte is written exactly once', async () => {
    const { proxy, url } = await throughProxy(await postgresUrl())
    const store = await openedPostgres(url)
    const lengths = { toServer: 0, toClient: 0 }
    const append = async (n: number, text: string) =>
      store.append({ stream: 'a', events: [event(text)], expected: n - 1 })()
    right(await append(0, 'x'))
    for (const side of ['toServer', 'toClient'] as const)
      proxy[side] = (chunk) => {
        lengths[side] += chunk.length
        return chunk
      }
    right(await append(1, 'x'))
    let n = 2
    for (const side of ['toServer', 'toClient'] as const) {
      // PALIMPSEST_RUNS=20 cuts at every byte.
      const step = Math.max(1, Math.floor(lengths[side] / runs(40)))
      for (let bytes = 0; bytes <= lengths[side]; bytes += step) {
        proxy.toServer = (chunk) => chunk
        proxy.toClient = (chunk) => chunk
        proxy[side] = cutAfter(bytes)
        expect(['written', 'repeated']).toContain(right(await append(n, 'x')))
        n++
      }
    }
    expect(n).toBeGreaterThan(20)
    const page = right(await store.read({ stream: 'a', ...all, from: 0 })())
    expect(page.map(({ revision }) => revision)).toEqual(
      Array.from({ length: Math.min(n, 1_000) }, (_, i) => i),
    )
  })

  test('reads over connections that are cut return all the same', async () => {
    const { proxy, url } = await throughProxy(await postgresUrl())
    const store = await openedPostgres(url)
    const events = Array.from({ length: 5 }, () => event())
    right(await store.append({ stream: 'a', events, expected: -1 })())
    for (let bytes = 0; bytes < 1_000; bytes += 97) {
      proxy.toClient = cutAfter(bytes)
      expect(right(await store.read({ stream: 'a', ...all })()).map(texts)).toEqual(events)
    }
  })

  test('a follower goes on where it was after its connection was cut', async () => {
    const { proxy, url } = await throughProxy(await postgresUrl())
    const store = await openedPostgres(url)
    const writer = await openedPostgres(url)
    const written = Array.from({ length: 30 }, () => event())
    const seen: string[] = []
    const stop = new AbortController()
    const following = (async () => {
      for await (const item of store.follow({ signal: stop.signal })) {
        if (item.type === 'event') seen.push(item.event.id)
        if (seen.length === written.length) return
      }
    })()
    for (const [n, one] of written.entries()) {
      if (n % 7 === 3) proxy.toClient = cutAfter(0)
      right(await writer.append({ stream: 'a', events: [one], expected: n - 1 })())
    }
    await following
    expect(seen).toEqual(written.map(({ id }) => id))
  })

  test.skipIf(isShared).each([
    ['default_transaction_isolation = "repeatable read"', 'synchronous_commit = off'],
    [
      'default_transaction_isolation = serializable',
      'bytea_output = escape',
      "timezone = 'Asia/Kathmandu'",
      "datestyle = 'SQL, DMY'",
      "client_encoding = 'LATIN1'",
      'standard_conforming_strings = off',
      'array_nulls = off',
      'extra_float_digits = -15',
    ],
  ])('a role with %s keeps the contract', async (...settings) => {
    const { urlOf } = await newRole(settings)
    const bytes = storeContract.filter(({ title }) =>
      /every byte value|written, to the byte|all together/.test(title),
    )
    for (const { run } of [...races, ...bytes])
      await expect(run(await openedPostgres(await urlOf(newSchema())))).resolves.toBeUndefined()
  })

  test.skipIf(isShared)(
    'functions, operators and tables in a search_path before the system’s are not used',
    async () => {
      const evil = newSchema()
      const admin = await administrator()
      await admin.query(`CREATE SCHEMA ${evil}
      CREATE TABLE events (position bigint, stream bigint, revision bigint)
      CREATE TABLE streams (id bigint, name text)`)
      for (const [name, type] of [
        ['starts_with(text, text)', 'boolean'],
        ['octet_length(text)', 'integer'],
        ['pg_advisory_xact_lock(bigint)', 'void'],
        ['pg_backend_pid()', 'integer'],
        ['set_config(text, text, boolean)', 'text'],
      ])
        await admin.query(
          `CREATE FUNCTION ${evil}.${name} RETURNS ${type} LANGUAGE plpgsql AS $$ BEGIN RAISE 'used'; END $$`,
        )
      await admin.query(
        `CREATE FUNCTION ${evil}.never(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT false'`,
      )
      await admin.query(
        `CREATE OPERATOR ${evil}.= (FUNCTION = ${evil}.never, LEFTARG = text, RIGHTARG = text)`,
      )
      const { role, urlOf } = await newRole([`search_path = ${evil}, pg_catalog`])
      await admin.query(`GRANT USAGE ON SCHEMA ${evil} TO ${role}`)
      for (const { run } of races)
        await expect(run(await openedPostgres(await urlOf(newSchema())))).resolves.toBeUndefined()
      await admin.query(`DROP SCHEMA ${evil} CASCADE`)
    },
  )

  test('SQL in names, ids, types, prefixes and texts is text', async () => {
    const store = await openedPostgres(await postgresUrl())
    const text = String.raw`'"; DROP TABLE events; -- $1 $$ \' {},"NULL" %_`
    const one = { id: text, type: text, data: text, metadata: text }
    right(await store.append({ stream: text, events: [one], expected: -1, repeat: 'each' })())
    right(await store.append({ stream: `${text}2`, events: [one, { ...one, id: 'NULL' }], expected: -1 })())
    expect(right(await store.read({ stream: text, ...all })()).map(texts)).toEqual([one])
    expect(right(await store.find(text, text)())).toEqual({ revision: 0, through: 0 })
    expect(right(await store.count(text, text, 5)())).toBe(1)
    expect(right(await store.streams(text, '', 5)())).toEqual([text, `${text}2`])
    expect(right(await store.newest([text], undefined, 5)())).toEqual([`${text}2`, text])
    expect(right(await store.readAll({ prefixes: [text], limit: 5 })()).events).toHaveLength(3)
    for await (const chunk of store.blobs.get(text)) expect(chunk).toBeUndefined()
    expect(left(await openPostgres('postgres://h/d?schema=a;b')())).toMatchObject({ _tag: 'InvalidInput' })
  })

  test('names of U+0000 and lone surrogates are those of no stream', async () => {
    const store = await openedPostgres(await postgresUrl())
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    for (const strange of ['a\0', '\ud800']) {
      expect(right(await store.read({ stream: strange, ...all })())).toEqual([])
      expect(right(await store.find(strange, strange)())).toEqual({ revision: undefined, through: -1 })
      expect(right(await store.streams(strange, '', 5)())).toEqual([])
      expect(right(await store.newest([strange], undefined, 5)())).toEqual([])
      expect(right(await store.changed(strange, undefined)()).streams).toBeUndefined()
      expect(right(await store.readAll({ prefixes: [strange], limit: 5 })()).events).toEqual([])
    }
    const long = 'x'.repeat(4_000)
    const request = { stream: long, events: [event()], expected: -1 }
    expect(left(await store.append(request)())).toMatchObject({ _tag: 'InvalidInput', path: 'stream' })
  })

  test.skipIf(isShared)('a lock that another role holds is StoreBusy, and nothing is written', async () => {
    const schema = newSchema()
    const store = await openedPostgres(await postgresUrl(schema, '&timeout=50'))
    const { urlOf } = await newRole()
    const other = await administrator(await urlOf(schema))
    await other.query(`BEGIN; SELECT pg_advisory_xact_lock(${lockKey(schema, 'append')})`)
    expect(left(await store.append({ stream: 'a', events: [event()], expected: -1 })())).toMatchObject({
      _tag: 'StoreBusy',
    })
    await other.query('ROLLBACK')
    expect(right(await store.append({ stream: 'a', events: [event()], expected: -1 })())).toBe('written')
  })

  test.skipIf(isShared)('a role that may not create a schema, or may only read, is StoreDenied', async () => {
    const schema = newSchema()
    const { role, urlOf } = await newRole([], '')
    const url = await urlOf(schema)
    expect(left(await openPostgres(url)())).toMatchObject({ _tag: 'StoreDenied' })
    const owned = await openedPostgres(await postgresUrl(schema))
    right(await owned.append({ stream: 'a', events: [event()], expected: -1 })())
    const admin = await administrator()
    await admin.query(
      `GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    )
    const reader = await openedPostgres(url)
    expect(right(await reader.read({ stream: 'a', ...all })())).toHaveLength(1)
    const denied = await reader.append({ stream: 'a', events: [event()], expected: 0 })()
    expect(left(denied)).toMatchObject({ _tag: 'StoreDenied' })
    const nobody = url.replace(/\/\/[^@]*@/, '//nobody-here@')
    expect(left(await openPostgres(nobody)())).toMatchObject({ _tag: 'StoreDenied' })
  })

  test.skipIf(isShared)('an append of a role with synchronous_commit = off waits for the disk', async () => {
    const schema = newSchema()
    const { urlOf } = await newRole(['synchronous_commit = off'])
    const url = await urlOf(schema)
    const store = await openedPostgres(url)
    await (
      await administrator(url)
    ).query(`CREATE TABLE ${schema}.seen AS SELECT ''::text AS setting WHERE false;
      CREATE FUNCTION ${schema}.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO ${schema}.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
      CREATE TRIGGER see AFTER INSERT ON ${schema}.events FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.see()`)
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    right(await store.append({ stream: 'a', events: [event(), event()], expected: 0 })())
    const { rows } = await (await administrator()).query(`SELECT setting FROM ${schema}.seen`)
    expect(rows.map(({ setting }: { readonly setting: string }) => setting)).toEqual(['on', 'on', 'on'])
  })

  test.skipIf(isShared)('a role with only the rights that the docs name works with a store', async () => {
    const schema = newSchema()
    const [owner, worker] = [await newRole([], ''), await newRole([], '')]
    const admin = await administrator()
    await admin.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${owner.role}`)
    await openedPostgres(await owner.urlOf(schema))
    await admin.query(`GRANT USAGE ON SCHEMA ${schema} TO ${worker.role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${worker.role}`)
    const store = await openedPostgres(await worker.urlOf(schema))
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    const chunk = new Uint8Array([1, 255])
    const hash = createHash('sha256').update(chunk).digest('hex')
    right(await store.blobs.put(hash, [chunk])())
    right(await store.blobs.remove(hash, new Date(Date.now() + 60_000))())
    const release = await store.liveness?.hold('a')
    expect(release).toBeTypeOf('function')
    await release?.()
    expect(await store.liveness?.names()).toEqual([])
    for await (const item of store.follow({})) if (item.type === 'event') break
  })

  test.skipIf(isShared)(
    'timeouts that end idle sessions and long transactions end nothing here',
    async () => {
      const schema = newSchema()
      const admin = await administrator()
      const known = async (name: string): Promise<boolean> =>
        (await admin.query(`SELECT current_setting('${name}', true) AS value`)).rows[0]?.value !== null
      // PostgreSQL 14 and 17.
      const timeouts = ['idle_session_timeout', 'transaction_timeout']
      const settings = []
      for (const name of timeouts) if (await known(name)) settings.push(`${name} = 200`)
      const { role, urlOf } = await newRole(settings)
      const store = await openedPostgres(await urlOf(schema))
      let isLost = false
      await store.liveness?.hold('a', () => (isLost = true))
      const sessions = async (): Promise<readonly unknown[]> =>
        (await admin.query(`SELECT pid FROM pg_stat_activity WHERE usename = '${role}' ORDER BY pid`)).rows
      right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
      right(await store.read({ stream: 'a', ...all })())
      const before = await sessions()
      await new Promise((resolve) => setTimeout(resolve, 600))
      expect(await sessions()).toEqual(before)
      expect(isLost).toBe(false)
      await admin.query(`BEGIN; SELECT pg_advisory_xact_lock(${lockKey(schema, 'append')})`)
      const append = store.append({ stream: 'a', events: [event()], expected: 0 })()
      await new Promise((resolve) => setTimeout(resolve, 600))
      await admin.query('COMMIT')
      expect(['written', 'repeated']).toContain(right(await append))
    },
  )

  test.skipIf(isShared)('a database that takes no writes is StoreReadOnly, and can be read', async () => {
    const schema = newSchema()
    const owned = await openedPostgres(await postgresUrl(schema))
    right(await owned.append({ stream: 'a', events: [event()], expected: -1 })())
    const { role, urlOf } = await newRole(['default_transaction_read_only = on'])
    await (await administrator()).query(`GRANT palimpsest TO ${role}`)
    const store = await openedPostgres(await urlOf(schema))
    expect(right(await store.read({ stream: 'a', ...all })())).toHaveLength(1)
    const refused = await store.append({ stream: 'a', events: [event()], expected: 0 })()
    expect(left(refused)).toMatchObject({ _tag: 'StoreReadOnly' })
    expect(left(await openPostgres(await urlOf(newSchema()))())).toMatchObject({ _tag: 'StoreReadOnly' })
  })

  test.skipIf(isShared)('a store that is missing, newer, of another program or dropped says so', async () => {
    const [missing, newer, foreign, dropped] = [newSchema(), newSchema(), newSchema(), newSchema()]
    const admin = await administrator()
    expect(left(await openPostgres(await postgresUrl(missing), false)())).toMatchObject({
      _tag: 'StoreNotFound',
    })
    await openedPostgres(await postgresUrl(newer))
    await admin.query(`UPDATE ${newer}.meta SET version = 99`)
    expect(left(await openPostgres(await postgresUrl(newer))())).toMatchObject({ _tag: 'StoreTooNew' })
    await admin.query(`CREATE SCHEMA ${foreign} CREATE TABLE events (id int)`)
    expect(left(await openPostgres(await postgresUrl(foreign))())).toMatchObject({ _tag: 'StoreCorrupt' })
    const store = await openedPostgres(await postgresUrl(dropped))
    await admin.query(`DROP SCHEMA ${dropped} CASCADE`)
    expect(E.isLeft(await store.append({ stream: 'a', events: [event()], expected: -1 })())).toBe(true)
    expect(left(await store.read({ stream: 'a', ...all })())).toMatchObject({ _tag: 'StoreCorrupt' })
    const url = (await postgresUrl()).replace('/postgres?', '/nowhere?')
    expect(left(await openPostgres(url)())).toMatchObject({ _tag: 'StoreUnavailable' })
  })
})
