import * as E from 'fp-ts/lib/Either.js'
import { eventId } from '../../events/ids.ts'
import { ok, run, type Steps } from '../../result/steps.ts'
import { outcomeUnknown, type StoreError } from '../errors.ts'
import { remembered } from '../lru.ts'
import { maxPage } from '../port.ts'
import { beginsWithOne } from '../prefixes.ts'
import type { Append } from './appender.ts'
import { entryIn, listEarlier } from './earlier.ts'
import type { ServerEvent } from './responses.ts'
import type { Filter } from './requests.ts'
import { newestFirst } from './newest-first.ts'
import type { Reads } from './reads.ts'

// The database has no list of its streams, and finding them takes a search of all events. So a writer that begins a stream first adds
// an entry to a stream that lists them: an entry may name a stream that was never written, but every stream has an entry. Streams that
// an earlier release began without one are found by a search, once, and listed in a second stream (earlier.ts).

type Listing<A> = Steps<StoreError, A>

/** The streams of one kind. */
export interface Directory {
  /** Lists a stream, before its first event is written. */
  readonly begin: (stream: string) => Listing<void>
  /** At most `limit` names that begin with one of the prefixes, the newest first, older than the name `before`. */
  readonly newest: (
    prefixes: readonly string[],
    before: string | undefined,
    limit: number,
  ) => Listing<readonly string[]>
  /** All names, including streams that a writer of an earlier release has begun meanwhile. */
  readonly all: () => Listing<readonly string[]>
}

export interface Kind {
  /** The stream that lists streams; those found by a search are in `NAME-earlier`. */
  readonly stream: string
  /** Finds the events of streams without an entry. */
  readonly filter: Filter
}

export const conversations: Kind = {
  stream: 'palimpsest-streams',
  filter: { on: 'stream', prefixes: ['conversation-'] },
}
export const blobStreams: Kind = {
  stream: 'palimpsest-blobs',
  filter: { on: 'type', prefixes: ['BlobStored', 'BlobKept'] },
}

/** How many streams are remembered to have an entry. */
const maxBegun = 10_000
/** The fewest entries that are read at once. */
const leastPage = 100

export const directory = (reads: Reads, append: Append, { stream, filter }: Kind): Directory => {
  const begun = remembered<true>(maxBegun)
  const earlier = { stream: `${stream}-earlier`, filter }
  let names = newestFirst()
  let parts = [entriesOf(reads, stream), entriesOf(reads, earlier.stream)] as const
  let unlisted: readonly string[] = []
  /** Whether streams without an entry have been searched for. */
  let isSearched = false

  const forget = (): void => {
    names = newestFirst()
    parts = [entriesOf(reads, stream), entriesOf(reads, earlier.stream)]
  }

  /** Reads more of the older names; false when there are no more. */
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
    // Streams that somebody has found by a search come in between those that are known.
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
   * @param again also if somebody has done so before
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
      // An append at any revision meets no conflict.
      return yield written.left._tag === 'Conflict' ? outcomeUnknown(stream, [], written.left) : written.left
    begun.set(name, true)
  }

  async function* all(): Listing<readonly string[]> {
    yield* search(true)
    yield* everything()
    return names.all()
  }

  let last: Promise<unknown> = Promise.resolve()
  /** One at a time: they share what was read. */
  async function* inTurn<A>(steps: () => Listing<A>): Listing<A> {
    const result = last.then(() => run(steps()))
    last = result.catch(() => undefined)
    return yield* ok(result)
  }

  return {
    begin,
    newest: (prefixes, before, limit) => inTurn(() => newest(prefixes, before, limit)),
    all: () => inTurn(all),
  }
}

/** The entries of one stream that have been read: each once, more at both ends. */
interface Part {
  /** The names before those read so far, newest first. */
  readonly older: (limit: number) => Listing<readonly string[]>
  /** The names since those read so far, oldest first; empty if nothing was read yet. */
  readonly newer: () => Listing<readonly string[]>
  /** Whether there is nothing older. */
  readonly isRead: () => boolean
}

const entriesOf = (reads: Reads, stream: string): Part => {
  let next: number | undefined
  let oldest = Infinity
  const namesIn = (events: readonly ServerEvent[]): readonly string[] =>
    events.flatMap((event) => entryIn(event)?.stream ?? [])
  return {
    isRead: () => oldest === 0,
    older: async function* (limit): Listing<readonly string[]> {
      if (oldest === 0) return []
      const from = Math.min(oldest - 1, Number.MAX_SAFE_INTEGER)
      const read = yield* reads.whatIsThere({ stream, from, direction: 'backwards', limit })
      next ??= (read[0]?.revision ?? -1) + 1
      oldest = read.at(-1)?.revision ?? 0
      return namesIn(read)
    },
    newer: async function* (): Listing<readonly string[]> {
      const names: string[] = []
      while (next !== undefined) {
        const read = yield* reads.whatIsThere({ stream, from: next, direction: 'forwards', limit: maxPage })
        names.push(...namesIn(read))
        next += read.length
        if (read.length < maxPage) break
      }
      return names
    },
  }
}
