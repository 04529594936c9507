import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { decode, type Decoder } from '../../events/codec.ts'
import { type ConversationEvent, START } from '../../events/events.ts'
import { breath, pacer } from '../../store/breath.ts'
import { eventMissing } from '../../store/dense.ts'
import { orThrow } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import type { StoreError } from '../../store/errors.ts'
import { type Lineage, type StreamSegment, stretchAt } from './lineage.ts'
import {
  type EventStore,
  maxPage,
  type StreamRange,
  type RecordedEvent,
  streamPage,
} from '../../store/port.ts'

/** Access to the events of one conversation by position, across the streams of its lineage. */
export interface Reader {
  readonly lineage: Lineage
  /** Number of events that a backward walk reads first. Default: a few, because most walks end soon. */
  readonly ahead?: number
  /** Reads the conversation's last position. */
  readonly last: () => Promise<E.Either<StoreError, number>>
  /** Reads events of one segment from position `first` to `last`, both inclusive: at least one event and at most a page. */
  readonly page: (
    first: number,
    last: number,
    direction: 'forwards' | 'backwards',
  ) => Promise<E.Either<StoreError, readonly ConversationEvent[]>>
}

/** Reads the recorded form of the event at a position. */
export const readRecordedAt = async (
  store: EventStore,
  lineage: Lineage,
  position: number,
): Promise<E.Either<StoreError, RecordedEvent | undefined>> => {
  const stretch = stretchAt(lineage, position)
  if (!stretch) return E.right(undefined)
  const from = position - stretch.offset
  const { stream } = stretch
  const read = await store.read({ stream, from, direction: 'forwards', limit: 1 })()
  return E.map((events: readonly RecordedEvent[]) => events[0])(read)
}

export interface ReaderOptions {
  /**
   * Events of the conversation's own stream that have already been read, newest first and contiguous. Default: the events returned by
   * the first backward read.
   */
  readonly known?: readonly RecordedEvent[] | undefined
  readonly decoder?: Decoder | undefined
}

export const reader = (
  store: EventStore,
  lineage: Lineage,
  { known = [], decoder = decode }: ReaderOptions = {},
): Reader => {
  let kept = known
  return {
    lineage,
    last: async () => {
      const [own] = lineage
      if (!own) return E.right(START)
      const read = await store.read({
        stream: own.stream,
        from: Number.MAX_SAFE_INTEGER,
        direction: 'backwards',
        limit: 1,
      })()
      return E.map(([last]: readonly RecordedEvent[]) => own.offset + (last?.revision ?? START))(read)
    },
    page: async (first, last, direction) => {
      const stretch = stretchAt(lineage, direction === 'forwards' ? first : last)
      if (!stretch) return E.right([])
      const { stream, offset } = stretch
      const from = direction === 'forwards' ? first : last
      const part = stretch === lineage[0] ? keptIn(kept, first - offset, last - offset, direction) : []
      if (part.length > 0) return decodeAll(part, stretch, decoder)
      const room =
        direction === 'forwards' ? Math.min(last, stretch.last) - first : last - Math.max(first, offset)
      const range = { stream, from: from - offset, direction, limit: Math.min(room + 1, maxPage) }
      const read = await store.read(range)()
      if (E.isLeft(read)) return read
      const [top] = read.right
      if (direction === 'backwards' && top?.revision !== range.from) return missingOrNone(store, range)
      if (direction === 'backwards' && stretch === lineage[0] && kept.length === 0) kept = read.right
      return decodeAll(read.right, stretch, decoder)
    },
  }
}

/** Returns the kept events, newest first, with which a page of the revisions from `first` to `last` begins; empty if it has none. */
const keptIn = (
  kept: readonly RecordedEvent[],
  first: number,
  last: number,
  direction: StreamRange['direction'],
): readonly RecordedEvent[] => {
  const newest = kept[0]?.revision ?? -1
  if (direction === 'backwards')
    return last <= newest ? kept.slice(newest - last, newest + 1 - Math.max(first, 0)) : []
  const isKept = first <= newest && first > newest - kept.length
  return isKept ? kept.slice(Math.max(0, newest - last), newest + 1 - first).toReversed() : []
}

/**
 * Handles a backward read that does not begin with the requested event: returns no events if the stream ends before that event,
 * otherwise an error.
 */
const missingOrNone = async (
  store: EventStore,
  { stream, from }: StreamRange,
): Promise<E.Either<StoreError, readonly never[]>> => {
  const read = await store.read({ stream, from, direction: 'forwards', limit: 1 })()
  if (E.isLeft(read)) return read
  const [later] = read.right
  return later ? E.left(eventMissing(stream, from, later.revision)) : E.right([])
}

export const decodeAll = async (
  recorded: readonly RecordedEvent[],
  { stream, offset }: StreamSegment,
  decoder = decode,
): Promise<E.Either<StoreError, readonly ConversationEvent[]>> => {
  const events: ConversationEvent[] = []
  const pace = pacer()
  for (const stored of recorded) {
    const pause = pace(stored.data.length)
    if (pause) await pause
    const decoded = decoder(stored, { stream, revision: stored.revision, position: offset + stored.revision })
    if (E.isLeft(decoded)) return decoded
    events.push(decoded.right)
  }
  return E.right(events)
}

/**
 * Yields the events from position `first` to `last`, all of which must exist, in order and one page at a time. Throws a `StoreError`
 * during iteration.
 */
export async function* pages(
  from: Reader,
  first: number,
  last: number,
): AsyncGenerator<readonly ConversationEvent[], void> {
  for (let next = first; next <= last;) {
    const page = await orThrow(from.page(next, Math.min(last, next + streamPage - 1), 'forwards'))
    if (page.length === 0) throw toError(noEventAt(from, next))
    yield page
    next += page.length
    if (next <= last) await breath()
  }
}

/** Returns the error for a missing event at a position before the conversation's end. */
const noEventAt = ({ lineage }: Reader, position: number): StoreError => {
  const { stream = '', offset = 0 } = stretchAt(lineage, position) ?? {}
  return eventMissing(stream, position - offset)
}

/** Reads the event at an existing position. Fails if the event is missing. */
export const eventThere = async (
  from: Reader,
  position: number,
): Promise<E.Either<StoreError, ConversationEvent>> => {
  const found = await eventAt(from, position)()
  if (E.isLeft(found)) return found
  return found.right ? E.right(found.right) : E.left(noEventAt(from, position))
}

/** Reads the event at a position; returns undefined if the conversation has no event there. */
export const eventAt =
  (from: Reader, position: number): TaskEither<StoreError, ConversationEvent | undefined> =>
  async () =>
    position < 0
      ? E.right(undefined)
      : E.map((page: readonly ConversationEvent[]) => page[0])(
          await from.page(position, position, 'backwards'),
        )

/** Default number of events that a backward walk reads first. */
export const firstPage = 32

/**
 * Walks a path backwards: visits the event at `from`, which must exist, and the events before it on its path, down to position `first`.
 * A `Rewound` is not visited; the walk continues at its target.
 *
 * @param visit returns true to end the walk
 * @param pageSize number of events to read at first
 * @returns the position where the walk began, after following rewinds
 */
export const walkBack = async (
  reading: Reader,
  from: number,
  first: number,
  visit: (event: ConversationEvent) => boolean,
  pageSize = reading.ahead ?? firstPage,
): Promise<E.Either<StoreError, number>> => {
  let head: number | undefined
  let position = from
  let size = pageSize
  while (position >= first) {
    const read = await reading.page(Math.max(first, position - size + 1), position, 'backwards')
    if (E.isLeft(read)) return read
    const [top] = read.right
    if (!top) return E.left(noEventAt(reading, position))
    size = Math.min(size * 4, maxPage)
    // Newest first: the index of an event is the distance of its position from the top.
    for (let event = read.right[0]; event; event = read.right[top.position - position]) {
      if (event.type === 'Rewound') {
        position = event.data.to
        if (position < first) break
        continue
      }
      head ??= position
      if (visit(event)) return E.right(head)
      position = event.position - 1
    }
  }
  return E.right(head ?? position)
}

/** Returns the position of the head right after the event at `position`. */
export const resolveAt = (reading: Reader, position: number): Promise<E.Either<StoreError, number>> =>
  walkBack(reading, position, 0, () => true)
