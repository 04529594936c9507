import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../events/errors.ts'
import { type Fallible, unwrap } from '../result/fallible.ts'
import { breath } from './breath.ts'
import { isOfEvent, type StoreError } from './errors.ts'
import { type AllRange, type EventStore, largePage, type RecordedEvent, streamPage } from './port.ts'

// Reads of results longer than a page, page by page. An error is the last item that is yielded.

type Pages<A, Errors = StoreError> = AsyncGenerator<E.Either<Errors, readonly A[]>, void>

/**
 * Reports whether a page read forwards reaches the end of its stream: it has fewer events than requested, and its events are not so
 * large that the page may have been cut short.
 */
export const endsStream = (page: readonly RecordedEvent[], limit: number): boolean =>
  page.length < limit && page.reduce((sum, { data }) => sum + data.length, 0) <= largePage

/**
 * Yields the events of a stream from revision `from` to revision `to`, both inclusive, in order. If an event cannot be read, yields the
 * events before it, then the error.
 */
export async function* pagesOf(
  store: Pick<EventStore, 'read'>,
  stream: string,
  { from = 0, to = Infinity }: { readonly from?: number; readonly to?: number } = {},
): Pages<RecordedEvent> {
  let most = streamPage
  for (let next = from; next <= to;) {
    const limit = Math.min(most, to + 1 - next)
    const page = await store.read({ stream, from: next, direction: 'forwards', limit })()
    if (E.isLeft(page)) {
      most = isOfEvent(page.left) ? Math.min(page.left.revision - next, limit - 1) : 0
      if (most > 0) continue
      return yield page
    }
    if (page.right.length === 0) return
    yield page
    next += page.right.length
  }
}

/** Returns the last revision of a stream; -1 if it has no events. */
export async function* lastRevision(
  store: Pick<EventStore, 'read'>,
  stream: string,
): Fallible<StoreError, number> {
  const from = Number.MAX_SAFE_INTEGER
  const [newest] = yield* unwrap(store.read({ stream, from, direction: 'backwards', limit: 1 }))
  return newest?.revision ?? -1
}

/** Place of an event in a stream. */
type StreamPlace = Pick<RecordedEvent, 'stream' | 'revision'>

/** Returns a key that identifies a place. */
export const keyOfPlace = ({ stream, revision }: StreamPlace): string => `${revision} ${stream}`

/** Maximum distance of two events that are read together although the events between them are not wanted. */
const nearby = 16

/** Yields the events at these places, which ascend in each stream. A place without an event is skipped. */
export async function* eventsAt(
  store: Pick<EventStore, 'read'>,
  places: readonly StreamPlace[],
): Pages<RecordedEvent> {
  const wanted = new Set(places.map(keyOfPlace))
  let first = places[0]
  for (const [index, { stream, revision: to }] of places.entries()) {
    const next = places[index + 1]
    if (!first || (next?.stream === stream && next.revision - to <= nearby)) continue
    for await (const page of pagesOf(store, stream, { from: first.revision, to }))
      yield E.map((all: readonly RecordedEvent[]) => all.filter((one) => wanted.has(keyOfPlace(one))))(page)
    first = next
  }
}

/** Yields the events of a stream in reverse order, starting at the last event or at `from`. */
export async function* backwards(
  store: Pick<EventStore, 'read'>,
  stream: string,
  { from = Number.MAX_SAFE_INTEGER, limit = 16 }: { readonly from?: number; readonly limit?: number } = {},
): AsyncGenerator<E.Either<StoreError, RecordedEvent>, void> {
  for (let next = from; next >= 0;) {
    const page = await store.read({ stream, from: next, direction: 'backwards', limit })()
    if (E.isLeft(page)) return yield page
    if (page.right.length === 0) return
    for (const event of page.right) yield E.right(event)
    next = (page.right.at(-1)?.revision ?? 0) - 1
    // Not after the last page: most streams have only one page, and its reader must not wait for the event loop.
    if (next >= 0) await breath()
  }
}

/** Yields pages of stream names; `list` returns the names after the last name of the previous page. */
export async function* namePages(
  list: (last: string | undefined) => TaskEither<StoreError, readonly string[]>,
): Pages<string> {
  for (let last: string | undefined; ;) {
    const names = await list(last)()
    last = E.isRight(names) ? names.right.at(-1) : undefined
    if (E.isLeft(names) || last !== undefined) yield names
    if (last === undefined) return
  }
}

/** Yields all existing events of a store, page by page. */
export async function* allPages(
  store: EventStore,
  { after, prefixes }: Pick<AllRange, 'after' | 'prefixes'> = {},
): Pages<RecordedEvent, StoreError | InvalidInput> {
  for (let from = after; ;) {
    const page = await store.readAll({ after: from, limit: streamPage, ...(prefixes && { prefixes }) })()
    if (E.isLeft(page)) return yield page
    yield E.right(page.right.events)
    if (page.right.isEnd || page.right.checkpoint === from) return
    from = page.right.checkpoint
  }
}
