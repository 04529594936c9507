import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import { run, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../errors.ts'
import type { StreamAppender } from './appender.ts'
import { checkpointOf, isOfServer, type LogPosition, placeOf, type ServerEvent } from './responses.ts'
import { type PrefixFilter } from './requests.ts'
import type { Reads } from './reads.ts'

/** Name of the stream that lists streams found by a search, and the filter that finds them. */
export interface StreamList {
  readonly stream: string
  readonly filter: PrefixFilter
}

/**
 * An entry of a stream that lists streams. `place` is the log position of one of the listed stream's events, if the stream was found by
 * a search.
 */
interface Entry {
  readonly stream: string
  readonly place?: string
}

export const entryIn = ({ type, data }: ServerEvent): Entry | undefined =>
  type === 'StreamBegun' ? (JSON.parse(Buffer.from(data).toString()) as Entry) : undefined

/** Result of a search for streams without an entry. */
interface Earlier {
  /** Number of streams added to the list. */
  readonly found: number
  /** Streams found, newest first, that cannot be listed because the user may not write. */
  readonly unlisted: readonly string[]
}

interface Search {
  /** True to search again even if a search was completed before. */
  readonly again: boolean
  /** Reads all entries and returns a function that reports whether a stream has one. */
  readonly known: () => Fallible<StoreError, (name: string) => boolean>
}

/** Number of events read at a time; it is limited because events of conversations may be large. */
const page = 200
/** Maximum number of bytes of the log that are simply searched again, because recording them as searched would cost more. */
const unnoted = 1024 * 1024

/**
 * Adds entries for streams that have none because an earlier release began them. Each search writes at the revision that it read, so if
 * several searches run at once, one writes and the others continue from its result. A later call continues an interrupted search.
 */
export async function* listEarlier(
  reads: Reads,
  append: StreamAppender,
  { stream, filter }: StreamList,
  { again, known }: Search,
): Fallible<StoreError, Earlier> {
  for (;;) {
    const from = Number.MAX_SAFE_INTEGER
    const [last] = yield* reads.whatIsThere({ stream, from, direction: 'backwards', limit: 1 })
    if (last?.type === 'LookedThrough' && !again) return { found: 0, unlisted: [] }
    const isKnown = yield* known()
    const found = yield* searchFrom(reads, append, { stream, filter }, { last, isKnown })
    if (found) return found
  }
}

interface Begun {
  readonly last: ServerEvent | undefined
  readonly isKnown: (name: string) => boolean
}

/** Searches the events after the last entry's log position; returns undefined if another search wrote in the meantime. */
async function* searchFrom(
  reads: Reads,
  append: StreamAppender,
  { stream, filter }: StreamList,
  { last, isKnown }: Begun,
): Fallible<StoreError, Earlier | undefined> {
  const start = last && placeIn(last)
  const found = new Set<string>()
  let unlisted: string[] = []
  let revision = last?.revision ?? -1
  let isDenied = false

  /** Writes entries; returns false if another search wrote in the meantime. */
  async function* write(type: string, all: readonly object[]): Fallible<StoreError, boolean> {
    if (isDenied || all.length === 0) return true
    const events = all.map((data) => ({ id: randomUUID(), type, data: JSON.stringify(data), metadata: '{}' }))
    const written = await run(append({ stream, expected: revision, events }))
    if (E.isRight(written)) revision = written.right.revision
    else if (written.left._tag === 'Conflict') return false
    else if (written.left._tag === 'StoreDenied') isDenied = true
    else return yield written.left
    return true
  }

  for (let place = start; ;) {
    const end = yield* reads.end()
    const read = yield* reads.all(filter, place, page)
    const entries: Entry[] = []
    for (const event of read) {
      if (isOfServer(event) || isKnown(event.stream) || found.has(event.stream)) continue
      found.add(event.stream)
      entries.push({ stream: event.stream, place: checkpointOf(event.place) })
    }
    if (!(yield* write('StreamBegun', entries))) return undefined
    if (isDenied) unlisted = [...unlisted, ...entries.map((entry) => entry.stream)]
    place = read.at(-1)?.place ?? place
    if (read.length === page) continue
    const isNear = last?.type === 'LookedThrough' && distance(start, end) < unnoted
    const note = end && (found.size > 0 || !isNear) ? [{ place: checkpointOf(end) }] : []
    if (!(yield* write('LookedThrough', note))) return undefined
    return { found: found.size - unlisted.length, unlisted: unlisted.toReversed() }
  }
}

const placeIn = ({ data }: ServerEvent): LogPosition | undefined => {
  const { place } = JSON.parse(Buffer.from(data).toString()) as { readonly place?: string }
  return place === undefined ? undefined : placeOf(place)
}

/** Returns the number of bytes between two positions in the database's log. */
const distance = (one: LogPosition | undefined, other: LogPosition | undefined): number =>
  Number(other?.commit ?? 0) - Number(one?.commit ?? 0)
