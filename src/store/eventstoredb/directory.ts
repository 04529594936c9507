import * as E from 'fp-ts/lib/Either.js'
import { eventId } from '../../events/ids.ts'
import { remembered } from '../lru.ts'
import { type Conflict, outcomeUnknown, type StoreError } from '../errors.ts'
import { maxPage } from '../port.ts'
import type { Append } from './appender.ts'
import { entryIn, lookForEarlier } from './earlier.ts'
import type { Filter, ServerEvent } from './messages.ts'
import { newestFirst } from './newest-first.ts'
import type { Reads } from './reads.ts'

type Result<A> = Promise<E.Either<StoreError, A>>

// The database has no list of its streams, and to look for their events takes a look at all events. So whoever begins a stream says so
// first, in a stream that lists them: an entry may be of what never came, but nothing that came is without one. Streams that were begun
// without an entry, by an earlier release, are found by looking once, and listed in a second stream (earlier.ts).

/** Which streams there are, those of one kind. */
export interface Directory {
  /** Lists a stream, before its first event is written. */
  readonly begin: (stream: string) => Result<void>
  /** At most `limit` names that begin with `prefix`, the newest first, older than the name `before`. */
  readonly newest: (prefix: string, before: string | undefined, limit: number) => Result<readonly string[]>
  /** All names, also of streams that a writer of an earlier release has begun meanwhile. */
  readonly all: () => Result<readonly string[]>
}

export interface Kind {
  /** The stream that lists streams; those found later are in `NAME-earlier`. */
  readonly stream: string
  /** What finds events of streams without an entry. */
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

/** Streams whose entries need not be written twice. */
const maxBegun = 10_000
/** Entries that are read at once, at least. */
const leastPage = 100

export const directory = (reads: Reads, append: Append, { stream, filter }: Kind): Directory => {
  const begun = remembered<true>(maxBegun)
  const earlier = { stream: `${stream}-earlier`, filter }
  let names = newestFirst()
  let parts = [entriesOf(reads, stream), entriesOf(reads, earlier.stream)] as const
  let unlisted: readonly string[] = []
  let isLooked = false

  const forget = (): void => {
    names = newestFirst()
    parts = [entriesOf(reads, stream), entriesOf(reads, earlier.stream)]
  }

  /** Reads on towards the oldest; false when there is nothing more. */
  const older = async (limit: number): Result<boolean> => {
    for (const part of parts) {
      if (part === parts[1] && !isLooked) {
        const looked = await look(false)
        return E.map(() => true)(looked)
      }
      const read = await part.older(limit)
      if (E.isLeft(read)) return read
      read.right.forEach(names.older)
      if (read.right.length > 0 || !part.isRead()) return E.right(true)
    }
    unlisted.forEach(names.older)
    return E.right(false)
  }

  const newer = async (): Result<void> => {
    const found = await parts[1].newer()
    if (E.isLeft(found)) return found
    // What somebody has found by looking belongs between what is known.
    if (found.right.length > 0) forget()
    const read = await parts[0].newer()
    if (E.isRight(read)) read.right.forEach(names.newer)
    return E.map(() => undefined)(read)
  }

  const everything = async (): Result<void> => {
    const fresh = await newer()
    if (E.isLeft(fresh)) return fresh
    for (;;) {
      const more = await older(maxPage)
      if (E.isLeft(more) || !more.right) return E.map(() => undefined)(more)
    }
  }

  const known = async (): Result<(name: string) => boolean> => {
    isLooked = true
    return E.map(() => names.has)(await everything())
  }

  /** Looks for streams without an entry; again only if so asked. */
  const look = async (again: boolean): Result<void> => {
    const looked = await lookForEarlier(reads, append, earlier, { again, known })
    isLooked = E.isRight(looked)
    if (E.isLeft(looked)) return looked
    ;({ unlisted } = looked.right)
    if (looked.right.found > 0) forget()
    return E.right(undefined)
  }

  const newest = async (
    prefix: string,
    before: string | undefined,
    limit: number,
  ): Result<readonly string[]> => {
    const fresh = before === undefined || !names.has(before) ? await newer() : E.right(undefined)
    if (E.isLeft(fresh)) return fresh
    const found: string[] = []
    for (let name = before; found.length < limit;) {
      const following = name === undefined || names.has(name) ? names.after(name) : undefined
      if (following === undefined) {
        const more = await older(Math.min(Math.max(limit, leastPage), maxPage))
        if (E.isLeft(more)) return more
        if (!more.right && names.after(name) === undefined) break
      } else {
        name = following
        if (name.startsWith(prefix)) found.push(name)
      }
    }
    return E.right(found)
  }

  const begin = async (name: string): Result<void> => {
    if (begun.get(name) || names.has(name)) return E.right(undefined)
    // The same entry has the same id: the server takes most repeats for one.
    const id = eventId(stream, name, 0)
    const event = { id, type: 'StreamBegun', data: JSON.stringify({ stream: name }), metadata: '{}' }
    const written = await append({ stream, expected: 'any', events: [event] })
    if (E.isLeft(written)) return E.left(notConflicting(written.left))
    begun.set(name, true)
    return E.right(undefined)
  }

  let inTurn: Promise<unknown> = Promise.resolve()
  const one = <A>(run: () => Result<A>): Result<A> => {
    const result = inTurn.then(run)
    inTurn = result.catch(() => undefined)
    return result
  }

  return {
    begin,
    newest: (prefix, before, limit) => one(() => newest(prefix, before, limit)),
    all: () =>
      one(async () => {
        const looked = await look(true)
        if (E.isLeft(looked)) return looked
        return E.map(() => names.all())(await everything())
      }),
  }
}

/** The entries of one stream, as far as they were read: those in the middle once, new ones at both ends. */
interface Part {
  /** The names before those read so far, newest first. */
  readonly older: (limit: number) => Result<readonly string[]>
  /** The names since those read so far, oldest first; none if nothing was read yet. */
  readonly newer: () => Result<readonly string[]>
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
    older: async (limit) => {
      if (oldest === 0) return E.right([])
      const from = Math.min(oldest - 1, Number.MAX_SAFE_INTEGER)
      const read = await reads.whatIsThere({ stream, from, direction: 'backwards', limit })
      if (E.isLeft(read)) return read
      next ??= (read.right[0]?.revision ?? -1) + 1
      oldest = read.right.at(-1)?.revision ?? 0
      return E.right(namesIn(read.right))
    },
    newer: async () => {
      const names: string[] = []
      while (next !== undefined) {
        const read = await reads.whatIsThere({ stream, from: next, direction: 'forwards', limit: maxPage })
        if (E.isLeft(read)) return read
        names.push(...namesIn(read.right))
        next += read.right.length
        if (read.right.length < maxPage) break
      }
      return E.right(names)
    },
  }
}

/** An append at any revision meets no conflict. */
const notConflicting = (error: StoreError | Conflict): StoreError =>
  error._tag === 'Conflict' ? outcomeUnknown(error.stream, [], error) : error
