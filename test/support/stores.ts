import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { openEventStoreDb } from '../../src/store/eventstoredb/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { right } from './either.ts'
import { type EventStoreDb, eventStoreDb, type Options } from './eventstoredb/server.ts'
import { namespaced } from './namespaced.ts'

/** An empty folder that is gone after the test. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
  folders.push(folder)
  return folder
}
const folders: string[] = []

/** An EventStoreDB of its own, in this process, that ends with the test. */
export const temporaryServer = async (options: Options = {}): Promise<EventStoreDb> => {
  const server = await eventStoreDb(options)
  servers.push(server)
  return server
}
const servers: EventStoreDb[] = []

afterEach(async () => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

/** A server by URL, shared by all tests: PALIMPSEST_TEST_ESDB. */
const sharedServer = process.env['PALIMPSEST_TEST_ESDB']

/** Every store there is, by name; each call opens an empty one. */
export const stores: Readonly<Record<string, () => Promise<EventStore>>> = {
  memory: async () => memoryStore(),
  sqlite: async () => right(await openSqlite(`sqlite:${join(temporaryFolder(), 'store.db')}`)()),
  eventstoredb: async () =>
    sharedServer === undefined
      ? right(await openEventStoreDb((await temporaryServer()).url)())
      : namespaced(right(await openEventStoreDb(sharedServer)()), `${randomUUID()}-`),
}
