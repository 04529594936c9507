import * as E from 'fp-ts/lib/Either.js'
import { remembered } from '../lru.ts'
import type { StoreError } from '../errors.ts'
import { type Found, maxPage } from '../port.ts'
import type { ServerEvent } from './messages.ts'
import type { Reads } from './reads.ts'

/** How many of a stream's last events an id is looked for in: the database has no look-up by id. */
export const findWindow = 1_000
/** Streams whose newest ids are remembered. */
const maxStreams = 100

interface Known {
  readonly last: number
  /** The newest ids and their revisions, oldest first; at least the window's. */
  readonly ids: Map<string, number>
}

/** Finds events by id among the last of a stream; what was read once is not read again. */
export const recentIds = (
  reads: Reads,
): ((stream: string, id: string) => Promise<E.Either<StoreError, Found>>) => {
  const streams = remembered<Known>(maxStreams)

  /** The events behind those known, newest first; of a stream not seen before, and of a long gap, the window's. */
  const newer = async (
    stream: string,
    after: number,
  ): Promise<E.Either<StoreError, readonly ServerEvent[]>> => {
    const found: ServerEvent[] = []
    for (
      let from = Number.MAX_SAFE_INTEGER, size = after < 0 ? maxPage : 16;
      ;
      size = Math.min(size * 4, maxPage)
    ) {
      const limit = Math.min(size, findWindow - found.length)
      const page = await reads.range({ stream, from, direction: 'backwards', limit })
      if (E.isLeft(page)) return page
      found.push(...page.right.filter(({ revision }) => revision > after))
      const oldest = page.right.at(-1)
      if (!oldest || oldest.revision <= after + 1 || found.length >= findWindow) return E.right(found)
      from = oldest.revision - 1
    }
  }

  return async (stream, id) => {
    const known = streams.get(stream)
    const found = await newer(stream, known?.last ?? -1)
    if (E.isLeft(found)) return found
    const ids = new Map(known?.ids)
    for (const event of found.right.toReversed()) ids.set(event.id, event.revision)
    for (const oldest of ids.keys()) {
      if (ids.size <= findWindow) break
      ids.delete(oldest)
    }
    const last = found.right[0]?.revision ?? known?.last
    if (last !== undefined) streams.set(stream, { last, ids })
    return E.right({ revision: ids.get(id), through: last ?? -1 })
  }
}
