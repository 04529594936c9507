import * as E from 'fp-ts/lib/Either.js'
import type { StoreError } from '../errors.ts'
import { type Changed, type Checkpoint, maxPage } from '../port.ts'
import { checkpointOf, isSamePlace, placeOf } from './messages.ts'
import type { Reads } from './reads.ts'

/** Bytes of the database that are looked through for what has changed: to read the ends of some thousand streams takes no longer. */
const most = 16 * 1024 * 1024

/** Which streams were written since a checkpoint; a change of a stream's metadata counts, as it may hide events. */
export const changes =
  (reads: Reads) =>
  async (prefix: string, since: Checkpoint | undefined): Promise<E.Either<StoreError, Changed>> => {
    const newest = await reads.end()
    // Who may not read $all gets by without.
    if (E.isLeft(newest))
      return newest.left._tag === 'StoreDenied'
        ? E.right({ checkpoint: undefined, streams: undefined })
        : newest
    const end = newest.right
    const place = since === undefined ? undefined : placeOf(since)
    const checkpoint = end && checkpointOf(end)
    if (!end || !place || Number(end.commit) - Number(place.commit) > most)
      return E.right({ checkpoint, streams: undefined })
    if (isSamePlace(end, place)) return E.right({ checkpoint, streams: new Set() })
    const read = await reads.all({ on: 'stream', prefixes: [prefix, `$$${prefix}`] }, place, maxPage)
    if (E.isLeft(read)) return read
    const names = read.right.map(({ stream }) => stream.replace(/^\$\$/, ''))
    return E.right({ checkpoint, streams: names.length < maxPage ? new Set(names) : undefined })
  }
