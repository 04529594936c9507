import * as E from 'fp-ts/lib/Either.js'
import { eventId } from '../../events/ids.ts'
import { unwrap, run, type Fallible } from '../../result/fallible.ts'
import { outcomeUnknown, type StoreError } from '../errors.ts'
import { createLruCache } from '../lru.ts'
import { maxPage } from '../port.ts'
import { beginsWithOne } from '../prefixes.ts'
import type { StreamAppender } from './appender.ts'
import { entryIn, listEarlier } from './earlier.ts'
import type { ServerEvent } from './responses.ts'
import type { PrefixFilter } from './requests.ts'
import { newestFirst } from './newest-first.ts'
import type { Reads } from './reads.ts'

// The database has no list of its streams, and finding them takes a search of all events. So a writer that begins a stream first adds
// an entry to a stream that lists them: an entry may name a stream that was never written, but every stream has an entry. Streams that
// an earlier release began without one are found by a search, once, and listed in a second stream (earlier.ts).

type Listing<A> = Fallible<StoreError, A>

/** List of the streams of one kind. */
export interface Directory {
  /** Adds a stream to the list before the stream's first event is written. */
  readonly begin: (stream: string) => Listing<void>
  /** Returns at most `limit` names that begin with one of the prefixes and are older than the name `before`, newest first. */
  readonly newest: (
    prefixes: readonly string[],
    before: string | undefined,
    limit: number,
  ) => Listing<readonly string[]>
  /** Returns all names, including those of streams begun in the meantime by a writer of an earlier release. */
  readonly all: () => Listing<readonly string[]>
  /**
   * Returns the given streams that were never begun, based on the entries that `all` or `newest` have read and on one read of newer
   * entries. The result is empty if not all entries have been read, or if the list is inconclusive: entries were removed, or streams of
   * earlier releases have no entry.
   */
  readonly neverBegun: (streams: readonly string[]) => Listing<ReadonlySet<string>>
}

export interface Kind {
  /** Name of the stream that lists the streams of this kind. Streams found by a search are listed in `NAME-earlier`. */
  readonly stream: string
  /** Filter for the search for streams without an entry. */
  readonly filter: PrefixFilter
}

export const conversations: Kind = {
  stream: 'palimpsest-streams',
  filter: { on: 'stream', prefixes: ['conversation-'] },
}
export const blobStreams: Kind = {
  stream: 'palimpsest-blobs',
  filter: { on: 'type', prefixes: ['BlobStored', 'BlobKept'] },
}

/** Maximum number of streams remembered as having an entry. */
const maxBegun = 10_000
/** Minimum number of entries to read at a time. */
const leastPage = 100

export const directory = (reads: Reads, append: StreamAppender, { stream, filter }: Kind): Directory => {
  const begun = createLruCache<true>(maxBegun)
  const earlier = { stream: `${stream}-earlier`, filter }
  let names = newestFirst()
  let parts = [entriesOf(reads, stream), entriesOf(reads, earlier.stream)] as const
  let unlisted: readonly string[] = []
  /** True after a search for streams without an entry. */
  let isSearched = false

  const forget = (): void => {
    names = newestFirst()
    parts = [entriesOf(reads, stream), entriesOf(reads, earlier.stream)]
  }

  /** Reads older names; returns false if all of them have been read. */
  async function* older(limit: number): Listing<boolean> {
    for (const part of parts) {
      if (part === parts[1] && !isSearched) {
        yield* search(false)
        return true
      }
      const read = yield* part.older(limit)
      read.forEach(names.older)
      if (read.length > 0 || !part.isRead()) return true
    }
    unlisted.forEach(names.older)
    return false
  }

  async function* newer(): Listing<void> {
    const found = yield* parts[1].newer()
    // Streams that another process found by a search belong between the names already read.
    if (found.length > 0) forget()
    const read = yield* parts[0].newer()
    read.forEach(names.newer)
  }

  async function* everything(): Listing<void> {
    yield* newer()
    while (yield* older(maxPage));
  }

  async function* known(): Listing<(name: string) => boolean> {
    isSearched = true
    yield* everything()
    return names.has
  }

  /**
   * Searches for streams without an entry.
   *
   * @param again true to search even if a search was completed before
   */
  async function* search(again: boolean): Listing<void> {
    const searched = await run(listEarlier(reads, append, earlier, { again, known }))
    isSearched = E.isRight(searched)
    if (E.isLeft(searched)) return yield searched.left
    ;({ unlisted } = searched.right)
    if (searched.right.found > 0) forget()
  }

  async function* newest(
    prefixes: readonly string[],
    before: string | undefined,
    limit: number,
  ): Listing<readonly string[]> {
    if (before === undefined || !names.has(before)) yield* newer()
    const found: string[] = []
    for (let name = before; found.length < limit;) {
      const following = name === undefined || names.has(name) ? names.after(name) : undefined
      if (following === undefined) {
        const hasMore = yield* older(Math.min(Math.max(limit, leastPage), maxPage))
        if (!hasMore && names.after(name) === undefined) break
      } else {
        name = following
        if (beginsWithOne(name, prefixes)) found.push(name)
      }
    }
    return found
  }

  async function* begin(name: string): Listing<void> {
    if (begun.get(name) || names.has(name)) return
    // The same entry has the same id: the server recognises most repeats.
    const id = eventId(stream, name, 0)
    const event = { id, type: 'StreamBegun', data: JSON.stringify({ stream: name }), metadata: '{}' }
    const written = await run(append({ stream, expected: 'any', events: [event] }))
    if (E.isLeft(written))
      // An append that expects `any` revision cannot conflict.
      return yield written.left._tag === 'Conflict' ? outcomeUnknown(stream, [], written.left) : written.left
    begun.set(name, true)
  }

  async function* all(): Listing<readonly string[]> {
    yield* search(true)
    yield* everything()
    return names.all()
  }

  let last: Promise<unknown> = Promise.resolve()
  /** Runs steps one at a time, because they share the names read so far. */
  const inTurn = <A>(steps: () => Listing<A>): Promise<E.Either<StoreError, A>> => {
    const result = last.then(() => run(steps()))
    last = result.catch(() => undefined)
    return result
  }

  /** Reports whether the names are complete, so that a stream missing from them was certainly never begun. */
  const isComplete = (): boolean =>
    isSearched && unlisted.length === 0 && parts[0].isWhole() && parts[1].isRead() && parts[1].names() === 0

  async function* sinceThen(): Listing<void> {
    if (isComplete()) (yield* parts[0].newer()).forEach(names.newer)
  }

  let waiting: Promise<E.Either<StoreError, void>> | undefined
  /** Reads the newer names. Callers that arrive before the read begins share it. */
  const look = (): Promise<E.Either<StoreError, void>> =>
    (waiting ??= inTurn(() => {
      waiting = undefined
      return sinceThen()
    }))

  return {
    begin,
    newest: (prefixes, before, limit) => unwrap(inTurn(() => newest(prefixes, before, limit))),
    all: () => unwrap(inTurn(all)),
    neverBegun: async function* (streams): Listing<ReadonlySet<string>> {
      if (isComplete()) yield* unwrap(look())
      return new Set(isComplete() ? streams.filter((name) => !names.has(name)) : [])
    },
  }
}

/** Reader of one stream's entries. It reads each entry once, continuing at both ends of the range read so far. */
interface Part {
  /** Reads the names older than those read so far, newest first. */
  readonly older: (limit: number) => Listing<readonly string[]>
  /** Reads the names newer than those read so far, oldest first; returns an empty list if nothing has been read yet. */
  readonly newer: () => Listing<readonly string[]>
  /** Reports whether the oldest entry has been read. */
  readonly isRead: () => boolean
  /** Reports whether every entry ever written has been read; false if any entry was removed. */
  readonly isWhole: () => boolean
  /** Returns the number of names read. */
  readonly names: () => number
}

const entriesOf = (reads: Reads, stream: string): Part => {
  /** Revision of the newest entry read; -1 if the stream has no entries. `oldest` is the revision of the oldest entry read. */
  let newest: number | undefined
  let oldest = Infinity
  let entries = 0
  let names = 0
  let isCut = false
  const namesIn = (events: readonly ServerEvent[]): readonly string[] => {
    const found = events.flatMap((event) => entryIn(event)?.stream ?? [])
    entries += events.length
    names += found.length
    return found
  }
  return {
    isRead: () => oldest === 0,
    // The server continues the revisions of a deleted stream.
    isWhole: () => oldest === 0 && !isCut && newest !== undefined && newest >= 0 && entries === newest + 1,
    names: () => names,
    older: async function* (limit): Listing<readonly string[]> {
      if (oldest === 0) return []
      const from = Math.min(oldest - 1, Number.MAX_SAFE_INTEGER)
      const read = yield* reads.whatIsThere({ stream, from, direction: 'backwards', limit })
      newest ??= read[0]?.revision ?? -1
      oldest = read.at(-1)?.revision ?? 0
      return namesIn(read)
    },
    // Reads the newest entry again: if it is gone, entries that were never read may be gone, too.
    newer: async function* (): Listing<readonly string[]> {
      const found: string[] = []
      while (newest !== undefined) {
        const known: number = newest
        const from = Math.max(known, 0)
        const read = yield* reads.whatIsThere({ stream, from, direction: 'forwards', limit: maxPage })
        isCut ||= known >= 0 && read[0]?.revision !== known
        found.push(...namesIn(read.filter(({ revision }) => revision > known)))
        newest = read.at(-1)?.revision ?? known
        if (read.length < maxPage) break
      }
      return found
    },
  }
}
