import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEventStoreDb } from '../../src/store/eventstoredb/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { openPostgres } from '../../src/store/postgres/store.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { openStore, type Store } from '../../src/index.ts'
import { atEnd } from './at-end.ts'
import { right } from './either.ts'
import { type EventStoreDb, eventStoreDb, type Options } from './eventstoredb/server.ts'
import { namespaced } from './namespaced.ts'
import { noPostgres } from './postgres/programs.ts'
import { postgresUrl } from './postgres/shared.ts'

/** An empty folder that is gone after the test. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A store that is closed after the test. */
export const opened = async (url: string): Promise<Store> => {
  const store = await openStore(url)
  atEnd(store.close)
  return store
}

/** An EventStoreDB of its own, in this process, that ends with the test. */
export const temporaryServer = async (options: Options = {}): Promise<EventStoreDb> => {
  const server = await eventStoreDb(options)
  atEnd(server.close)
  return server
}

/** A server by URL, shared by all tests: PALIMPSEST_TEST_ESDB. */
const sharedServer = process.env['PALIMPSEST_TEST_ESDB']

/** For what is to succeed: a busy machine may take this long for one answer, in milliseconds. */
export const patient = '&defaultDeadline=30000'

/** Where tests of the adapter run that inject no fault: a server of their own, or a part of the one that PALIMPSEST_TEST_ESDB names. */
export interface Place {
  readonly url: string
  /** The server, if it is a server of the tests. */
  readonly own: EventStoreDb | undefined
  /** What a stream is called on the server. */
  readonly stream: (name: string) => string
  readonly open: (parameters?: string) => Promise<EventStore>
}

export const somewhere = async (): Promise<Place> => {
  const own = sharedServer === undefined ? await temporaryServer() : undefined
  const url = own?.url ?? sharedServer ?? ''
  const namespace = own ? '' : `${randomUUID()}-`
  return {
    url,
    own,
    stream: (name) => namespace + name,
    open: async (parameters = own ? patient : '') => {
      const store = right(await openEventStoreDb(url + parameters)())
      return own ? store : namespaced(store, namespace)
    },
  }
}
/** Behind the title of what is not run on a server that others use. */
export const onlyOwn = sharedServer === undefined ? '' : ' (skipped: it needs a server of the tests)'

/** Every store there is, by name; each call opens an empty one. */
export const stores: Readonly<Record<string, () => Promise<EventStore>>> = {
  memory: async () => memoryStore(),
  sqlite: async () => right(await openSqlite(`sqlite:${join(temporaryFolder(), 'store.db')}`)()),
  eventstoredb: async () =>
    sharedServer === undefined
      ? right(await openEventStoreDb((await temporaryServer()).url + patient)())
      : namespaced(right(await openEventStoreDb(sharedServer)()), `${randomUUID()}-`),
  ...(noPostgres === undefined && { postgres: async () => right(await openPostgres(await postgresUrl())()) }),
}
