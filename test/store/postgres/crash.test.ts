import type { ChildProcess } from 'node:child_process'
import { appendFileSync, readFileSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
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

const ownServer = async (settings: readonly string[] = []): Promise<PostgresServer> => {
  const server = await startPostgres(settings)
  atEnd(server.remove)
  return server
}

/** A writer in a process of its own, with the ids that it has printed. */
const writer = (
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
  test('lose and double nothing that was acknowledged', async () => {
    const server = await ownServer()
    const url = server.url('palimpsest', patientPostgres)
    const store = await openedPostgres(url)
    const acknowledged: string[] = []
    // PALIMPSEST_RUNS=25 makes it 200 times.
    for (let round = 0; round < runs(8); round++) {
      const writers = [1, 2].map((n) => writer(url, `r${round}-${n}`))
      const [lasting, dying] = writers
      while (writers.some(({ ids }) => ids().length < 20)) await sleep(2)
      if (round % 2 === 0) await server.end('SIGKILL')
      dying?.child.kill('SIGKILL')
      if (round % 2 === 0) await server.start()
      const before = lasting?.ids().length ?? 0
      while ((lasting?.ids().length ?? 0) < before + 10) await sleep(2)
      for (const { child } of writers) {
        child.kill('SIGKILL')
        if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
      }
      for (const { ids } of writers) acknowledged.push(...ids())
    }
    expect(acknowledged.length).toBeGreaterThan(50)
    await hasEachOnce(store, acknowledged)
  })

  test('are a server again for an open store and its followers, without any call failing', async () => {
    const server = await ownServer()
    const store = await openedPostgres(server.url('palimpsest', patientPostgres))
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

  test('a standby is refused, and skipped for the primary', async () => {
    const primary = await ownServer()
    const store = await openedPostgres(primary.url())
    right(await store.append({ stream: 'a', events: [event()], expected: -1 })())
    await primary.end('SIGINT')
    const standby = await startStandby(primary)
    atEnd(standby.remove)
    expect(readFileSync(join(standby.folder, 'log'), 'utf8')).toMatch(/standby mode/)
    const refused = left(await openPostgres(standby.url())())
    expect(refused).toMatchObject({ _tag: 'StoreReadOnly', message: expect.stringMatching(/is a standby/) })
    await primary.start()
    const both = primary.url().replace('@', `@127.0.0.1:${standby.port},`)
    const found = await openedPostgres(both, false)
    expect(right(await found.append({ stream: 'a', events: [event()], expected: 0 })())).toBe('written')
  })

  test('a primary that is killed loses nothing acknowledged to the synchronous standby that is promoted', async () => {
    // PALIMPSEST_RUNS=10 makes it 30 failovers.
    for (let round = 0; round < runs(3); round++) {
      const primary = await ownServer()
      await primary.end('SIGINT')
      const standby = await startStandby(primary)
      atEnd(standby.remove)
      appendFileSync(
        join(primary.folder, 'data', 'postgresql.conf'),
        `synchronous_standby_names = '${standbyName}'\n`,
      )
      await primary.start()
      const url = primary
        .url('palimpsest', patientPostgres)
        .replace('/postgres?', `,127.0.0.1:${standby.port}/postgres?`)
      const writers = [1, 2].map((n) => writer(url, `w${n}`))
      while (writers.some(({ ids }) => ids().length < 30 + round)) await sleep(2)
      const replication = await (
        await administrator(primary.url())
      ).query('SELECT sync_state FROM pg_stat_replication')
      expect(replication.rows).toEqual([{ sync_state: 'sync' }])
      await primary.end('SIGKILL')
      const admin = await administrator(standby.url())
      const { rows } = await admin.query('SELECT pg_promote()')
      expect(rows).toEqual([{ pg_promote: true }])
      const before = writers.map(({ ids }) => ids().length)
      while (writers.some(({ ids }, n) => ids().length < (before[n] ?? 0) + 10)) await sleep(2)
      for (const { child } of writers) {
        child.kill('SIGKILL')
        await once(child, 'close')
      }
      const store = await openedPostgres(standby.url())
      await hasEachOnce(
        store,
        writers.flatMap(({ ids }) => ids()),
      )
      await standby.end('SIGQUIT')
    }
  })
})
