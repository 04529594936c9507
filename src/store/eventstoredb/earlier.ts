import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { StoreError } from '../errors.ts'
import type { Append } from './appender.ts'
import { checkpointOf, type Filter, isOfServer, type Place, placeOf, type ServerEvent } from './messages.ts'
import type { Reads } from './reads.ts'

type Result<A> = Promise<E.Either<StoreError, A>>

/** The stream that lists streams found by looking, and what finds them. */
export interface Entries {
  readonly stream: string
  readonly filter: Filter
}

/** An entry of a stream that lists streams. `place`: of an event of it, in a stream that was found by looking. */
interface Entry {
  readonly stream: string
  readonly place?: string
}

export const entryIn = ({ type, data }: ServerEvent): Entry | undefined =>
  type === 'StreamBegun' ? (JSON.parse(Buffer.from(data).toString()) as Entry) : undefined

/** What a look has come to. */
interface Earlier {
  /** How many streams were listed. */
  readonly found: number
  /** Streams that were found and cannot be listed, as the user may not write; newest first. */
  readonly unlisted: readonly string[]
}

interface Look {
  /** Whether to look for more where somebody has looked through all. */
  readonly again: boolean
  /** Reads which streams have an entry. */
  readonly known: () => Result<(name: string) => boolean>
}

/** Events that are read at once: those of conversations may be large. */
const page = 200
/** So many bytes of the database are looked through again rather than to write down how far one has looked. */
const unnoted = 1024 * 1024

/**
 * Lists the streams that have no entry: those which an earlier release has begun. It writes at the revision that it read, so of several
 * that look at once, one writes, and the others go on from what that has written; one that is interrupted is continued.
 */
export const lookForEarlier = async (
  reads: Reads,
  append: Append,
  { stream, filter }: Entries,
  { again, known }: Look,
): Result<Earlier> => {
  for (;;) {
    const newest = await reads.whatIsThere({
      stream,
      from: Number.MAX_SAFE_INTEGER,
      direction: 'backwards',
      limit: 1,
    })
    if (E.isLeft(newest)) return newest
    const [last] = newest.right
    if (last?.type === 'LookedThrough' && !again) return E.right({ found: 0, unlisted: [] })
    const isKnown = await known()
    if (E.isLeft(isKnown)) return isKnown
    const looked = await lookFrom(reads, append, { stream, filter }, { last, isKnown: isKnown.right })
    if (looked !== 'overtaken') return looked
  }
}

interface Begun {
  readonly last: ServerEvent | undefined
  readonly isKnown: (name: string) => boolean
}

const lookFrom = async (
  reads: Reads,
  append: Append,
  { stream, filter }: Entries,
  { last, isKnown }: Begun,
): Promise<E.Either<StoreError, Earlier> | 'overtaken'> => {
  const start = last && placeIn(last)
  const found = new Set<string>()
  let unlisted: string[] = []
  let revision = last?.revision ?? -1
  let isDenied = false

  const write = async (
    type: string,
    all: readonly object[],
  ): Promise<E.Either<StoreError, void> | 'overtaken'> => {
    if (isDenied || all.length === 0) return E.right(undefined)
    const events = all.map((data) => ({ id: randomUUID(), type, data: JSON.stringify(data), metadata: '{}' }))
    const written = await append({ stream, expected: revision, events })
    if (E.isRight(written)) revision = written.right.revision
    else if (written.left._tag === 'Conflict') return 'overtaken'
    else if (written.left._tag === 'StoreDenied') isDenied = true
    else return E.left(written.left)
    return E.right(undefined)
  }

  for (let place = start; ;) {
    const end = await reads.end()
    if (E.isLeft(end)) return end
    const read = await reads.all(filter, place, page)
    if (E.isLeft(read)) return read
    const entries: Entry[] = []
    for (const event of read.right) {
      if (isOfServer(event) || isKnown(event.stream) || found.has(event.stream)) continue
      found.add(event.stream)
      entries.push({ stream: event.stream, place: checkpointOf(event.place) })
    }
    const listed = await write('StreamBegun', entries)
    if (listed === 'overtaken' || E.isLeft(listed)) return listed
    if (isDenied) unlisted = [...unlisted, ...entries.map((entry) => entry.stream)]
    place = read.right.at(-1)?.place ?? place
    if (read.right.length === page) continue
    const isNear = last?.type === 'LookedThrough' && distance(start, end.right) < unnoted
    const noted = await write(
      'LookedThrough',
      end.right && (found.size > 0 || !isNear) ? [{ place: checkpointOf(end.right) }] : [],
    )
    if (noted === 'overtaken' || E.isLeft(noted)) return noted
    return E.right({ found: found.size - unlisted.length, unlisted: unlisted.toReversed() })
  }
}

const placeIn = ({ data }: ServerEvent): Place | undefined => {
  const { place } = JSON.parse(Buffer.from(data).toString()) as { readonly place?: string }
  return place === undefined ? undefined : placeOf(place)
}

/** How many bytes of the database are between two places. */
const distance = (one: Place | undefined, other: Place | undefined): number =>
  Number(other?.commit ?? 0) - Number(one?.commit ?? 0)
