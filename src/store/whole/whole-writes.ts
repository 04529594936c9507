import * as E from 'fp-ts/lib/Either.js'
import { ok, run, type Steps, task } from '../../result/steps.ts'
import { hashOf } from '../../events/codec.ts'
import { invalidInput } from '../../events/errors.ts'
import type { LargeContentStore } from '../blobs/large-content.ts'
import { gapIn } from '../dense.ts'
import { isOfEvent, type StoreError } from '../errors.ts'
import {
  canBeMarked,
  partsCompletedBy,
  isMarked,
  isRecord,
  markEvents,
  type RevisionRange,
  removeMark,
} from './parts.ts'
import { type EventStore, type KeptEnd, maxPage, type RecordedEvent } from '../port.ts'
import { inWholeWrites } from './order.ts'

const reserved = invalidInput('metadata.$part', 'is reserved for writes of several appends')
const unmarkable = invalidInput('metadata', 'must be a JSON object in an event of a write of several appends')

/**
 * Returns a store in which a write of several appends (`AppendRequest.part`) counts only once it is complete: before that, `readAll`
 * and `follow` do not yield its events. Reading one stream returns all its events; `readStreamEnd` tells which of them count. Pages
 * from the underlying store are checked for gaps.
 */
export const withWholeWrites = (store: LargeContentStore): LargeContentStore => ({
  ...store,
  check: (event) => (isMarked(event) ? E.left(reserved) : store.check(event)),
  append: (request) => () => {
    const { part, events } = request
    if (Array.isArray(events) && events.some(isMarked)) return Promise.resolve(E.left(reserved))
    if (!part) return store.append(request)()
    if (!events.every(canBeMarked)) return Promise.resolve(E.left(unmarkable))
    return store.append({ ...request, events: markEvents(events, part) })()
  },
  read: (range) => async () => {
    const page = await store.read(range)()
    if (E.isLeft(page)) return page
    const gap = gapIn(range, page.right)
    if (gap) return E.left(gap)
    return page.right.some(isMarked) ? E.right(page.right.map(removeMark)) : page
  },
  keptEnd: (stream) => task(() => keptEndOf(store, stream)),
  ...inWholeWrites(store),
})

/** Returns the recorded end of a stream with the hash of the unmarked event; the underlying store has the hash of the stored form. */
async function* keptEndOf(store: EventStore, stream: string): Steps<StoreError, KeptEnd | undefined> {
  const kept = yield* ok(store.keptEnd(stream))
  if (!kept) return undefined
  const { last, hash } = kept
  const read = await store.read({ stream, from: last, direction: 'forwards', limit: 1 })()
  const [event] = E.isRight(read) ? read.right : []
  const isIt = event !== undefined && isMarked(event) && event.revision === last && hashOf(event) === hash
  return isIt ? { last, hash: hashOf(removeMark(event)) } : kept
}

/** End of a stream: the last event that counts, and the actual last event if it belongs to an incomplete write of several appends. */
export interface StreamEnd {
  readonly last: RecordedEvent | undefined
  readonly unfinished?: RecordedEvent
}

/**
 * Returns the end of a stream, given its last event.
 *
 * @param newest the stream's last event; undefined if the stream has no events
 */
export async function* streamEndFrom(
  store: EventStore,
  newest: RecordedEvent | undefined,
): Steps<StoreError, StreamEnd> {
  if (!newest?.part || (yield* isWhole(store, newest))) return { last: newest }
  const before = newest.part.from - 1
  if (before < 0) return { last: undefined, unfinished: newest }
  const { stream } = newest
  const [last] = yield* ok(store.read({ stream, from: before, direction: 'forwards', limit: 1 }))
  return { last, unfinished: newest }
}

export async function* readStreamEnd(store: EventStore, stream: string): Steps<StoreError, StreamEnd> {
  const from = Number.MAX_SAFE_INTEGER
  const [newest] = yield* ok(store.read({ stream, from, direction: 'backwards', limit: 1 }))
  return yield* streamEndFrom(store, newest)
}

/** Bounds on the last revision of a stream that counts. */
export interface Extent {
  /** Last revision that certainly counts; -1 if no revision does, or if the last event cannot be read. */
  readonly least: number
  /** Last revision that counts if an incomplete write follows it; otherwise Infinity. */
  readonly most: number
  /** True if the stream has no events. */
  readonly isEmpty: boolean
}

export async function* extentOf(store: EventStore, stream: string): Steps<StoreError, Extent> {
  const end = await run(readStreamEnd(store, stream))
  if (E.isLeft(end))
    return isOfEvent(end.left) ? { least: -1, most: Infinity, isEmpty: false } : yield end.left
  const { last, unfinished } = end.right
  const least = last?.revision ?? -1
  return { least, most: unfinished ? least : Infinity, isEmpty: !last && !unfinished }
}

/**
 * Returns the revision through which a stream must be read to cover everything that the stream once contained. Reading further would
 * add nothing.
 */
export const endOf = ({ least, most }: Extent, kept: KeptEnd | undefined): number =>
  least < 0 ? most : Math.max(least, Math.min(kept?.last ?? -1, most))

/** Reports whether a write of several appends is complete, given its last event in a stream. */
async function* isWhole(
  store: EventStore,
  { stream, revision, part }: RecordedEvent,
): Steps<StoreError, boolean> {
  if (!isRecord(part?.last)) return part?.last === true
  const records = yield* ok(store.read({ stream: part.last, from: 0, direction: 'forwards', limit: maxPage }))
  const isThis = (stretch: RevisionRange): boolean => stretch.stream === stream && stretch.to === revision
  return records.some((record) => partsCompletedBy(record)?.some(isThis))
}
