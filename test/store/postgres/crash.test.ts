import type { ChildProcess } from 'node:child_process'
import { appendFileSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPostgres } from '../../../src/store/postgres/store.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { allPages } from '../../../src/store/pages.ts'
import { event } from '../../../src/testing/contract/support.ts'
import { atEnd } from '../../support/at-end.ts'
import { left, right } from '../../support/either.ts'
import { endsWithTest, start } from '../../support/node.ts'
import { administrator, openedPostgres } from '../../support/postgres/admin.ts'
import { externalUrl, noPostgres, whySkipped } from '../../support/postgres/programs.ts'
import { patientPostgres } from '../../support/postgres/shared.ts'
import {
  type PostgresServer,
  standbyName,
  startPostgres,
  startStandby,
} from '../../support/postgres/server.ts'
import { runs } from '../../support/runs.ts'

const ownServer = async (): Promise<PostgresServer> => {
  const server = await startPostgres()
  atEnd(server.remove)
  return server
}

/** A writer in this process, with the ids that were acknowledged. It appends until it ends. */
const writer = (store: EventStore, stream: string) => {
  const ids: string[] = []
  let isOver = false
  const all = (async () => {
    for (let n = 0; !isOver; n++) {
      const one = event('x'.repeat((n * 997) % 5_000))
      right(await store.append({ stream, events: [one], expected: n - 1 })())
      ids.push(one.id)
    }
  })()
  all.catch(() => undefined)
  return {
    ids,
    hasMore: async (count: number): Promise<void> => {
      for (const end = ids.length + count; ids.length < end;) await Promise.race([sleep(2), all])
    },
    end: (): Promise<void> => {
      isOver = true
      return all
    },
  }
}

/** A writer in a process of its own, with the ids that it has printed. */
const writerProcess = (
  url: string,
  stream: string,
): { readonly child: ChildProcess; readonly ids: () => readonly string[] } => {
  const child = start('store/postgres/children/writer.ts', url, stream)
  endsWithTest(child)
  let text = ''
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return { child, ids: () => text.split('\n').slice(0, -1) }
}

const hasEachOnce = async (store: EventStore, acknowledged: readonly string[]): Promise<void> => {
  const stored = new Map<string, number>()
  for await (const page of allPages(store))
    for (const { id } of right(page)) stored.set(id, (stored.get(id) ?? 0) + 1)
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
  expect([...stored.values()].filter((times) => times > 1)).toEqual([])
}

const isOwn = noPostgres === undefined && externalUrl === undefined

describe.skipIf(!isOwn)(`a PostgreSQL server and its writers that are killed${whySkipped}`, () => {
  /** One server for all of these tests: the last one leaves it dead. */
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.remove())

  test('lose and double nothing that was acknowledged', async () => {
    const url = server.url('killed', patientPostgres)
    const store = await openedPostgres(url)
    const lasting = writer(store, 'lasting')
    const acknowledged: string[] = []
    // PALIMPSEST_RUNS=33.4 makes it 201 times.
    for (let round = 0; round < runs(6); round++) {
      const { child, ids } = writerProcess(url, `dying-${round}`)
      while (ids().length < 20) await sleep(2)
      if (round % 2 === 0) await server.end('SIGKILL')
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
      if (round % 2 === 0) await server.start()
      await lasting.hasMore(10)
      acknowledged.push(...ids())
    }
    await lasting.end()
    expect(acknowledged.length).toBeGreaterThan(30)
    await hasEachOnce(store, [...acknowledged, ...lasting.ids])
  })

  test('are a server again for an open store and its followers, without any call failing', async () => {
    const store = await openedPostgres(server.url('again', patientPostgres))
    const seen: string[] = []
    const following = (async () => {
      for await (const item of store.follow({}))
        if (item.type === 'event' && seen.push(item.event.id) === 4) return
    })()
    const written = Array.from({ length: 4 }, () => event())
    for (const [n, one] of written.entries()) {
      if (n > 0) {
        await server.end(n === 1 ? 'SIGKILL' : 'SIGQUIT')
        void server.start()
      }
      right(await store.append({ stream: 'a', events: [one], expected: n - 1 })())
      expect(
        right(await store.read({ stream: 'a', from: n, direction: 'forwards', limit: 1 })()),
      ).toHaveLength(1)
    }
    await following
    expect(seen).toEqual(written.map(({ id }) => id))
  })

  test('a standby is refused, and skipped for the primary; promoted once that is killed, it has all that was acknowledged', async () => {
    // PALIMPSEST_RUNS=10 makes it 30 failovers.
    for (let round = 0; round < runs(3); round++) {
      const primary = round === 0 ? server : await ownServer()
      await openedPostgres(primary.url('failover'))
      await primary.end('SIGINT')
      const standby = await startStandby(primary)
      atEnd(standby.remove)
      expect(readFileSync(join(standby.folder, 'log'), 'utf8')).toMatch(/standby mode/)
      const refused = left(await openPostgres(standby.url('failover'))())
      expect(refused).toMatchObject({ _tag: 'StoreReadOnly', message: expect.stringMatching(/is a standby/) })
      appendFileSync(
        join(primary.folder, 'data', 'postgresql.conf'),
        `synchronous_standby_names = '${standbyName}'\n`,
      )
      await primary.start()
      const both = primary.url('failover', patientPostgres).replace('@', `@127.0.0.1:${standby.port},`)
      const writers: ReturnType<typeof writer>[] = []
      for (const n of [1, 2]) writers.push(writer(await openedPostgres(both, false), `w${n}`))
      await Promise.all(writers.map(({ hasMore }) => hasMore(30 + round)))
      const replication = await (
        await administrator(primary.url())
      ).query('SELECT sync_state FROM pg_stat_replication')
      expect(replication.rows).toEqual([{ sync_state: 'sync' }])
      await primary.end('SIGKILL')
      const admin = await administrator(standby.url())
      const { rows } = await admin.query('SELECT pg_promote()')
      expect(rows).toEqual([{ pg_promote: true }])
      await Promise.all(writers.map(({ hasMore }) => hasMore(10)))
      await Promise.all(writers.map(({ end }) => end()))
      const store = await openedPostgres(standby.url('failover'))
      await hasEachOnce(
        store,
        writers.flatMap(({ ids }) => ids),
      )
      await standby.end('SIGQUIT')
    }
  })
})
