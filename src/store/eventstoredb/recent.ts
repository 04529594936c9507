import type { Fallible } from '../../result/fallible.ts'
import { createLruCache } from '../lru.ts'
import type { StoreError } from '../errors.ts'
import { type FindResult, maxPage } from '../port.ts'
import type { ServerEvent } from './responses.ts'
import type { Reads } from './reads.ts'

/** Number of a stream's last events that are searched for an id, because the database has no index by id. */
export const findWindow = 1_000
/** Maximum number of streams whose newest ids are remembered. */
const maxStreams = 100

interface Known {
  readonly last: number
  /** Ids of the stream's newest events with their revisions, oldest first; at most `findWindow` ids. */
  readonly ids: Map<string, number>
}

/**
 * Returns a function that finds an event by id among a stream's last events. The function remembers ids, so that it reads no event
 * twice.
 */
export const recentIds = (
  reads: Reads,
): ((stream: string, id: string) => Fallible<StoreError, FindResult>) => {
  const streams = createLruCache<Known>(maxStreams)

  /** Reads the events of a stream after a revision, newest first, up to `findWindow` events. */
  async function* newer(stream: string, after: number): Fallible<StoreError, readonly ServerEvent[]> {
    const found: ServerEvent[] = []
    for (
      let from = Number.MAX_SAFE_INTEGER, size = after < 0 ? maxPage : 16;
      ;
      size = Math.min(size * 4, maxPage)
    ) {
      const limit = Math.min(size, findWindow - found.length)
      const page = yield* reads.range({ stream, from, direction: 'backwards', limit })
      found.push(...page.filter(({ revision }) => revision > after))
      const oldest = page.at(-1)
      if (!oldest || oldest.revision <= after + 1 || found.length >= findWindow) return found
      from = oldest.revision - 1
    }
  }

  return async function* (stream, id): Fallible<StoreError, FindResult> {
    const known = streams.get(stream)
    const found = yield* newer(stream, known?.last ?? -1)
    const ids = new Map(known?.ids)
    for (const event of found.toReversed()) ids.set(event.id, event.revision)
    for (const oldest of ids.keys()) {
      if (ids.size <= findWindow) break
      ids.delete(oldest)
    }
    const last = found[0]?.revision ?? known?.last
    if (last !== undefined) streams.set(stream, { last, ids })
    return { revision: ids.get(id), through: last ?? -1 }
  }
}
