import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventStoreDb } from '../../eventstoredb/server.ts'
import { startPostgres } from '../../postgres/server.ts'
import { patientPostgres } from '../../postgres/shared.ts'
import { type Proxy, proxy } from './proxy.ts'

/** Where a store is, for the processes of one scene. */
export interface Place {
  readonly kind: 'SQLite' | 'EventStoreDB' | 'PostgreSQL'
  /** For the test itself. */
  readonly url: string
  /** For a worker: through a network of its own, where there is a network. */
  readonly way: () => Promise<{ readonly url: string; readonly network?: Proxy }>
  /** Takes the server away; where others use it, from the workers only. @returns brings it back, with its data */
  readonly away?: () => Promise<() => Promise<void>>
  readonly close: () => Promise<void>
}

const file = async (): Promise<Place> => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-chaos-'))
  // A busy machine may keep who holds the lock waiting for longer than the usual five seconds.
  const url = `sqlite:${join(folder, 'store.db')}?timeout=60000`
  return {
    kind: 'SQLite',
    url,
    way: () => Promise.resolve({ url }),
    close: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
  }
}

const shared = process.env['PALIMPSEST_TEST_ESDB']

const server = async (): Promise<Place> => {
  const own = shared === undefined ? await eventStoreDb() : undefined
  const url = own?.url ?? shared ?? ''
  const networks: Proxy[] = []
  return {
    kind: 'EventStoreDB',
    url,
    way: async () => {
      const { port } = new URL(url)
      const network = await proxy(Number(port))
      networks.push(network)
      return { url: url.replace(`:${port}`, `:${network.port}`), network }
    },
    away: async () => {
      if (own) {
        await own.kill()
        return own.start
      }
      for (const network of networks) network.cut()
      return async () => {
        for (const network of networks) network.heal()
      }
    },
    close: async () => {
      for (const network of networks) network.close()
      await own?.close()
    },
  }
}

const database = async (): Promise<Place> => {
  const own = await startPostgres()
  const url = own.url('palimpsest', patientPostgres)
  return {
    kind: 'PostgreSQL',
    url,
    way: () => Promise.resolve({ url }),
    away: async () => {
      await own.end('SIGKILL')
      return own.start
    },
    close: own.remove,
  }
}

export const places = { SQLite: file, EventStoreDB: server, PostgreSQL: database }
