import { openStore } from '../../src/index.ts'
import { onPostgres } from '../durable-postgres.ts'
import { medianOf } from '../many-conversations.ts'
import { atMost, duration, type PartResult } from '../report.ts'
import { listAt } from './list.ts'

/** The list of a large store, over HTTP and by the library. */
export const postgresList = (_: string, isQuick: boolean): Promise<PartResult> =>
  onPostgres(async (server) => {
    const listed = await listAt(server.url(), 'PostgreSQL', isQuick, 50)
    const store = await openStore(server.url())
    const page = async (): Promise<void> => {
      let seen = 0
      for await (const _item of store.conversations()) if (++seen === 50) break
      if (seen < 50) throw new Error(`${seen} conversations are listed`)
    }
    const first = await medianOf(9, page)
    await store.close()
    return {
      ...listed,
      figures: [...listed.figures, atMost('first 50 by the library, without an index', first, 20, duration)],
    }
  })
