import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../../events/codec.ts'
import { invalidInput } from '../../events/errors.ts'
import type { LargeContentStore } from '../blobs/large-content.ts'
import { gapIn } from '../dense.ts'
import type { StoreError } from '../errors.ts'
import { canBeMarked, completedBy, isMarked, isRecord, marked, type Stretch, unmarked } from './parts.ts'
import { type EventStore, maxPage, type RecordedEvent } from '../port.ts'
import { inWholeWrites } from './order.ts'

const reserved = invalidInput('metadata.$part', 'is reserved for writes that take several appends')
const unmarkable = invalidInput('metadata', 'must be a JSON object in an event of a write of several appends')

/**
 * A store in which a write of several appends (`Append.part`) counts once it is whole: events carry what they are part of beside their
 * texts, and whoever reads all streams in order gets the events of such a write when it is whole, not before. Reading one stream gives
 * all its events: `readStreamEnd` tells which count. What a store gives as a page of a stream is checked to be one.
 */
export const withWholeWrites = (store: LargeContentStore): LargeContentStore => ({
  ...store,
  check: (event) => (isMarked(event) ? E.left(reserved) : store.check(event)),
  append: (request) => () => {
    const { part, events } = request
    if (Array.isArray(events) && events.some(isMarked)) return Promise.resolve(E.left(reserved))
    if (!part) return store.append(request)()
    if (!events.every(canBeMarked)) return Promise.resolve(E.left(unmarkable))
    return store.append({ ...request, events: marked(events, part) })()
  },
  read: (range) => async () => {
    const page = await store.read(range)()
    if (E.isLeft(page)) return page
    const gap = gapIn(range, page.right)
    if (gap) return E.left(gap)
    return page.right.some(isMarked) ? E.right(page.right.map(unmarked)) : page
  },
  // The store remembers the hash of what it was given.
  keptEnd: (stream) => async () => {
    const kept = await store.keptEnd(stream)()
    if (E.isLeft(kept) || !kept.right) return kept
    const { last, hash } = kept.right
    const read = await store.read({ stream, from: last, direction: 'forwards', limit: 1 })()
    const [event] = E.isRight(read) ? read.right : []
    const isIt = event !== undefined && isMarked(event) && event.revision === last && hashOf(event) === hash
    return isIt ? E.right({ last, hash: hashOf(unmarked(event)) }) : kept
  },
  ...inWholeWrites(store),
})

/** Where a stream ends: the last event that counts, and the last one of all where that belongs to a write that is not whole. */
export interface StreamEnd {
  readonly last: RecordedEvent | undefined
  readonly unfinished?: RecordedEvent
}

/** @param newest the stream's last event, if it has one */
export const streamEndFrom = async (
  store: EventStore,
  newest: RecordedEvent | undefined,
): Promise<E.Either<StoreError, StreamEnd>> => {
  if (!newest?.part) return E.right({ last: newest })
  const whole = await isWhole(store, newest)
  if (E.isLeft(whole)) return whole
  if (whole.right) return E.right({ last: newest })
  const before = newest.part.from - 1
  if (before < 0) return E.right({ last: undefined, unfinished: newest })
  const { stream } = newest
  const read = await store.read({ stream, from: before, direction: 'forwards', limit: 1 })()
  return E.map(([last]: readonly RecordedEvent[]) => ({ last, unfinished: newest }))(read)
}

export const readStreamEnd = async (
  store: EventStore,
  stream: string,
): Promise<E.Either<StoreError, StreamEnd>> => {
  const from = Number.MAX_SAFE_INTEGER
  const read = await store.read({ stream, from, direction: 'backwards', limit: 1 })()
  return E.isLeft(read) ? read : streamEndFrom(store, read.right[0])
}

/** How far a stream goes. */
export interface Extent {
  /** The last revision that is there and counts; -1 if there is none, or if the last event cannot be read. */
  readonly least: number
  /** The last revision that counts, if later ones do not; else Infinity. */
  readonly most: number
}

export const extentOf = async (store: EventStore, stream: string): Promise<E.Either<StoreError, Extent>> => {
  const end = await readStreamEnd(store, stream)
  if (E.isLeft(end)) return isOfEvent(end.left) ? E.right({ least: -1, most: Infinity }) : end
  const least = end.right.last?.revision ?? -1
  return E.right({ least, most: end.right.unfinished ? least : Infinity })
}

const isOfEvent = ({ _tag }: StoreError): boolean =>
  _tag === 'DecodeFailed' || _tag === 'BlobMissing' || _tag === 'BlobDamaged'

/** Whether the write is whole that this event is the last one of in its stream. */
const isWhole = async (
  store: EventStore,
  { stream, revision, part }: RecordedEvent,
): Promise<E.Either<StoreError, boolean>> => {
  if (!isRecord(part?.last)) return E.right(part?.last === true)
  const read = await store.read({ stream: part.last, from: 0, direction: 'forwards', limit: maxPage })()
  const isThis = (stretch: Stretch): boolean => stretch.stream === stream && stretch.to === revision
  return E.map((records: readonly RecordedEvent[]) =>
    records.some((record) => completedBy(record)?.some(isThis)),
  )(read)
}
