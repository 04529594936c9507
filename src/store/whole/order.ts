import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../../events/errors.ts'
import { catchTyped, unwrap, orThrow, type Fallible, task } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import { isBlobError, isKeyMissing, type StoreError } from '../errors.ts'
import { pagesOf } from '../pages.ts'
import { beginsWithOne } from '../prefixes.ts'
import { isMarked } from '../marks.ts'
import { partsCompletedBy, isRecord, recordPrefix, type RevisionRange, removeMark } from './parts.ts'
import {
  type AllPage,
  type AllRange,
  type Checkpoint,
  type EventStore,
  type FollowItem,
  type RecordedEvent,
} from '../port.ts'

/** Position within a completed write of several appends, right after the event at `revision` of `stream`. */
interface Within {
  /** Checkpoint of the event that completed the write; `by` is the event's stream, `at` its revision. */
  readonly checkpoint: Checkpoint
  readonly by: string
  readonly at: number
  readonly stream: string
  readonly revision: number
}

const checkpointOf = ({ checkpoint, by, at, stream, revision }: Within): Checkpoint =>
  JSON.stringify([checkpoint, by, at, stream, revision])

/**
 * Parses a checkpoint within a write of several appends. Returns undefined for any other checkpoint, which is passed to the underlying
 * store.
 */
const withinOf = (after: Checkpoint | undefined): Within | undefined => {
  if (typeof after !== 'string' || !after.startsWith('[')) return undefined
  try {
    const [checkpoint, by, at, stream, revision] = JSON.parse(after) as readonly unknown[]
    const isPlace =
      typeof checkpoint === 'string' &&
      typeof by === 'string' &&
      Number.isSafeInteger(at) &&
      typeof stream === 'string' &&
      Number.isSafeInteger(revision)
    return isPlace ? { checkpoint, by, at: Number(at), stream, revision: Number(revision) } : undefined
  } catch {
    return undefined
  }
}

/** Reports whether an event, as stored, is certainly not part of a write of several appends. */
const isPlain = (event: RecordedEvent): boolean => !isMarked(event) && !isRecord(event.stream)

/**
 * Returns reads across all streams in which the events of a write of several appends appear only once the write is complete, in
 * sequence, at the place of the event that completed it. A checkpoint within such a write names the completing event and the last event
 * read.
 */
export const inWholeWrites = (store: EventStore): Pick<EventStore, 'readAll' | 'follow'> => {
  /** Yields the events in a range of a stream's revisions, with their checkpoints. Throws a `StoreError` during iteration. */
  async function* eventsOf(
    { stream, from, to }: RevisionRange,
    placeOf: (revision: number) => Checkpoint,
  ): AsyncGenerator<RecordedEvent, void> {
    for await (const page of pagesOf(store, stream, { from, to })) {
      if (E.isLeft(page) && (isBlobError(page.left) || isKeyMissing(page.left)))
        throw toError({ ...page.left, checkpoint: placeOf(page.left.revision) })
      for (const event of await orThrow(page))
        yield { ...removeMark(event), checkpoint: placeOf(event.revision) }
    }
  }

  /**
   * Yields the events of the write that an event completed, in streams with the given prefixes. If `after` is given, yields only the
   * events after that position.
   */
  async function* madeWhole(
    by: RecordedEvent,
    prefixes: readonly string[],
    after?: Within,
  ): AsyncGenerator<RecordedEvent, void> {
    // An event with an unreadable mark is treated like any other event.
    if (!by.part && !isRecord(by.stream)) return yield by
    const stretches = (partsCompletedBy(by) ?? []).filter(({ stream }) => beginsWithOne(stream, prefixes))
    const reached = after ? stretches.findIndex(({ stream }) => stream === after.stream) : 0
    for (const [index, stretch] of stretches.entries()) {
      if (index < reached) continue
      const from = after && index === reached ? after.revision + 1 : stretch.from
      const { stream, to } = stretch
      const within = { checkpoint: by.checkpoint, by: by.stream, at: by.revision, stream }
      const isLast = (revision: number): boolean => revision === to && index === stretches.length - 1
      yield* eventsOf({ stream, from, to }, (revision) =>
        isLast(revision) ? by.checkpoint : checkpointOf({ ...within, revision }),
      )
    }
  }

  /** Yields the rest of a write after a position among its events. */
  async function* restOf(place: Within, prefixes: readonly string[]): AsyncGenerator<RecordedEvent, void> {
    const { by, at, checkpoint } = place
    const [event] = await orThrow(store.read({ stream: by, from: at, direction: 'forwards', limit: 1 }))
    if (event) yield* madeWhole({ ...removeMark(event), checkpoint }, prefixes, place)
  }

  async function* readAll({
    after,
    prefixes = [''],
    limit,
  }: AllRange): Fallible<StoreError | InvalidInput, AllPage> {
    const place = withinOf(after)
    const from = place?.checkpoint ?? after
    const rest = place ? yield* upTo(limit, restOf(place, prefixes)) : []
    if (rest.length > 0)
      return { events: rest, checkpoint: rest.length === limit ? rest.at(-1)?.checkpoint : from }
    const page = yield* unwrap(store.readAll({ after: from, prefixes: withRecords(prefixes), limit }))
    if (page.events.every(isPlain)) return page
    const events = yield* upTo(limit, inOrder(page.events, prefixes))
    const isFull = events.length === limit
    const checkpoint = isFull ? events.at(-1)?.checkpoint : page.checkpoint
    return { events, checkpoint, isEnd: !isFull && page.isEnd }
  }

  async function* inOrder(
    page: readonly RecordedEvent[],
    prefixes: readonly string[],
  ): AsyncGenerator<RecordedEvent, void> {
    for (const event of page)
      if (isPlain(event)) yield event
      else yield* madeWhole(removeMark(event), prefixes)
  }

  const follow: EventStore['follow'] = async function* ({ after, prefixes = [''], ...rest }) {
    const { signal } = rest
    const place = withinOf(after)
    const isOver = (): boolean => signal?.aborted === true
    for await (const event of place ? restOf(place, prefixes) : []) {
      if (isOver()) return
      yield { type: 'event', event, checkpoint: event.checkpoint }
    }
    const from = place?.checkpoint ?? after
    const options = { ...rest, ...(from !== undefined && { after: from }) }
    for await (const followed of store.follow({ ...options, prefixes: withRecords(prefixes) })) {
      if (followed.type === 'checkpoint' || isPlain(followed.event)) yield followed
      else {
        let last: Checkpoint | undefined
        for await (const event of madeWhole(removeMark(followed.event), prefixes)) {
          if (isOver()) return
          last = event.checkpoint
          yield { type: 'event', event, checkpoint: last } satisfies FollowItem
        }
        if (last !== followed.checkpoint) yield { type: 'checkpoint', checkpoint: followed.checkpoint }
      }
    }
  }

  return { readAll: (range) => task(() => readAll(range)), follow }
}

/** Returns the first events of an iteration, at most `limit` of them. */
const upTo = (
  limit: number,
  events: AsyncIterable<RecordedEvent>,
): Fallible<StoreError, readonly RecordedEvent[]> =>
  catchTyped(async () => {
    const taken: RecordedEvent[] = []
    for await (const event of events) if (taken.push(event) === limit) break
    return taken
  })

/**
 * Adds the prefix of record streams to the prefixes to read, because a record in its own stream may complete writes in the requested
 * streams.
 */
const withRecords = (prefixes: readonly string[]): readonly string[] =>
  beginsWithOne(recordPrefix, prefixes) ? prefixes : [...prefixes, recordPrefix]
