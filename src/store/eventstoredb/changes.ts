import * as E from 'fp-ts/lib/Either.js'
import { run, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../errors.ts'
import { type StreamChanges, type Checkpoint, maxPage } from '../port.ts'
import { checkpointOf, isSamePlace, placeOf } from './responses.ts'
import type { Reads } from './reads.ts'

/**
 * Maximum size of the part of the log to search for changes, in bytes. For a larger part, reading the last events of a few thousand
 * streams is as fast.
 */
const most = 16 * 1024 * 1024

/**
 * Returns a function that lists the streams written since a checkpoint. A change of a stream's metadata counts as a write, because it
 * may hide events.
 */
export const changes = (reads: Reads) =>
  async function* (prefix: string, since: Checkpoint | undefined): Fallible<StoreError, StreamChanges> {
    const newest = await run(reads.end())
    // To a user who may not read $all, the changes are unknown.
    if (E.isLeft(newest))
      return newest.left._tag === 'StoreDenied'
        ? { checkpoint: undefined, streams: undefined }
        : yield newest.left
    const end = newest.right
    const place = since === undefined ? undefined : placeOf(since)
    const checkpoint = end && checkpointOf(end)
    if (!end || !place || Number(end.commit) - Number(place.commit) > most)
      return { checkpoint, streams: undefined }
    if (isSamePlace(end, place)) return { checkpoint, streams: new Set() }
    const read = yield* reads.all({ on: 'stream', prefixes: [prefix, `$$${prefix}`] }, place, maxPage)
    const names = read.map(({ stream }) => stream.replace(/^\$\$/, ''))
    return { checkpoint, streams: names.length < maxPage ? new Set(names) : undefined }
  }
