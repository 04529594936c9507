import * as E from 'fp-ts/lib/Either.js'
import { unwrap, run, type Fallible, task } from '../../result/fallible.ts'
import { contentIsSealed, hashOf } from '../../events/codec.ts'
import { gapIn } from '../dense.ts'
import { isOfEvent, type StoreError } from '../errors.ts'
import { isMarked, isSealedEvent } from '../marks.ts'
import { partsCompletedBy, isRecord, type RevisionRange, removeMark } from './parts.ts'
import { type EventStore, type KeptEnd, maxPage, type RecordedEvent } from '../port.ts'
import { inWholeWrites } from './order.ts'

/**
 * Returns a store in which a write of several appends (`AppendRequest.part`) counts only once it is complete: until then, `readAll` and
 * `follow` do not yield its events. Reading one stream returns all of the stream's events; `readStreamEnd` determines which of them
 * count. Pages from the underlying store are checked for gaps.
 */
export const withWholeWrites = (store: EventStore): EventStore => ({
  ...store,
  read: (range) => async () => {
    const page = await store.read(range)()
    if (E.isLeft(page)) return page
    const gap = gapIn(range, page.right)
    if (gap) return E.left(gap)
    // Without the keys nothing can follow a sealed event: what is stored has another hash.
    const sealed = store.isSealed ? undefined : page.right.find(isSealedEvent)
    if (sealed) return E.left(sealedWithoutKeys(sealed))
    return page.right.some(isMarked) ? E.right(page.right.map(removeMark)) : page
  },
  keptEnd: (stream) => task(() => keptEndOf(store, stream)),
  ...inWholeWrites(store),
})

const sealedWithoutKeys = ({ stream, revision, type }: RecordedEvent): StoreError => ({
  _tag: 'DecodeFailed',
  message: `event ${revision} of stream ${stream} (${type}) cannot be read: ${contentIsSealed}`,
  stream,
  revision,
  isNewer: true,
  isKeyMissing: true,
})

/**
 * Returns the recorded end of a stream with the hash of the event without its mark. The underlying store records the hash of the stored
 * form.
 */
async function* keptEndOf(store: EventStore, stream: string): Fallible<StoreError, KeptEnd | undefined> {
  const kept = yield* unwrap(store.keptEnd(stream))
  if (!kept) return undefined
  const { last, hash } = kept
  const read = await store.read({ stream, from: last, direction: 'forwards', limit: 1 })()
  const [event] = E.isRight(read) ? read.right : []
  const isIt = event !== undefined && isMarked(event) && event.revision === last && hashOf(event) === hash
  return isIt ? { last, hash: hashOf(removeMark(event)) } : kept
}

/**
 * End of a stream: the last event that does not belong to an incomplete write of several appends and, if such a write follows it, the
 * stream's actual last event.
 */
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
): Fallible<StoreError, StreamEnd> {
  if (!newest?.part || (yield* isWhole(store, newest))) return { last: newest }
  const before = newest.part.from - 1
  if (before < 0) return { last: undefined, unfinished: newest }
  const { stream } = newest
  const [last] = yield* unwrap(store.read({ stream, from: before, direction: 'forwards', limit: 1 }))
  return { last, unfinished: newest }
}

export async function* readStreamEnd(store: EventStore, stream: string): Fallible<StoreError, StreamEnd> {
  const from = Number.MAX_SAFE_INTEGER
  const [newest] = yield* unwrap(store.read({ stream, from, direction: 'backwards', limit: 1 }))
  return yield* streamEndFrom(store, newest)
}

/** Bounds on a stream's last revision, not counting an incomplete write of several appends. */
export interface Extent {
  /** Last revision that is known not to belong to an incomplete write; -1 if there is none, or if the last event cannot be read. */
  readonly least: number
  /** Last revision before an incomplete write; Infinity if no incomplete write is known. */
  readonly most: number
  /** True if the stream has no events. */
  readonly isEmpty: boolean
}

export async function* extentOf(store: EventStore, stream: string): Fallible<StoreError, Extent> {
  const end = await run(readStreamEnd(store, stream))
  if (E.isLeft(end))
    return isOfEvent(end.left) ? { least: -1, most: Infinity, isEmpty: false } : yield end.left
  const { last, unfinished } = end.right
  const least = last?.revision ?? -1
  return { least, most: unfinished ? least : Infinity, isEmpty: !last && !unfinished }
}

/** Returns the last revision that must be read to cover everything that the stream once contained. */
export const endOf = ({ least, most }: Extent, kept: KeptEnd | undefined): number =>
  least < 0 ? most : Math.max(least, Math.min(kept?.last ?? -1, most))

/** Reports whether a write of several appends is complete, given its last event in a stream. */
async function* isWhole(
  store: EventStore,
  { stream, revision, part }: RecordedEvent,
): Fallible<StoreError, boolean> {
  if (!isRecord(part?.last)) return part?.last === true
  const records = yield* unwrap(
    store.read({ stream: part.last, from: 0, direction: 'forwards', limit: maxPage }),
  )
  const isThis = (stretch: RevisionRange): boolean => stretch.stream === stream && stretch.to === revision
  return records.some((record) => partsCompletedBy(record)?.some(isThis))
}
