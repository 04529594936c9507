import * as E from 'fp-ts/lib/Either.js'
import { hashOf, type StoredEvent } from '../../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import { unwrap, orThrow, run, type Fallible, task } from '../../result/fallible.ts'
import { checkAppend } from '../check-append.ts'
import type { StoreError } from '../errors.ts'
import type {
  AllPage,
  AllRange,
  AppendRequest,
  AppendOutcome,
  EventStore,
  FollowItem,
  FollowOptions,
  KeptEnd,
  RecordedEvent,
} from '../port.ts'
import { isCut } from '../marks.ts'
import { cutLiterals, referencesOf } from './cut.ts'
import { type InlineLimits, maxEventBytes, planOutside } from './plan.ts'
import { restoreBlobs } from './restore.ts'

type AppendError = StoreError | EventTooLarge | InvalidInput

/** Maximum bytes of outside content for one page of events. A page whose first event alone has more contains only that event. */
const pageBytes = 32 * 1024 * 1024

/**
 * Shortens a page so that its content stored outside events fits into `pageBytes`, because a page may have a thousand events, and
 * memory may hold a thousand texts but not a thousand images.
 */
const bounded = (page: readonly RecordedEvent[]): readonly RecordedEvent[] => {
  if (!page.some(isCut)) return page
  let bytes = 0
  const end = page.findIndex((event, index) => {
    const references = isCut(event) ? (referencesOf(event) ?? []) : []
    for (const reference of references) bytes += reference.bytes
    return index > 0 && bytes > pageBytes
  })
  return end < 0 ? page : page.slice(0, end)
}

/** Reports whether the events can certainly be stored without moving content outside. False if the value is not a list of events. */
const arePlain = (events: readonly StoredEvent[], { threshold, append }: InlineLimits): boolean => {
  if (!Array.isArray(events)) return false
  const most = Math.min(threshold, maxEventBytes)
  let length = 0
  for (const event of events as readonly (Partial<StoredEvent> | null)[]) {
    const { data, metadata } = event ?? {}
    if (typeof data !== 'string' || typeof metadata !== 'string') return false
    const own = data.length + metadata.length
    // A string's UTF-8 is at most three times its length.
    if (own * 3 > most || isCut({ metadata })) return false
    length += own
  }
  return length * 3 <= append
}

/** An event store that stores large content outside its events. */
export interface LargeContentStore extends EventStore {
  /** Checks, without accessing the store, whether the event can be appended on its own. */
  readonly check: (event: StoredEvent) => E.Either<EventTooLarge | InvalidInput, unknown>
}

/**
 * Returns a store that keeps strings above the threshold outside events, deduplicated, but always returns whole events. Texts and
 * hashes always refer to the whole events, so a conversation does not depend on the threshold.
 *
 * @param threshold maximum bytes of a string (UTF-8, including escapes) that stays in its event
 */
export const withLargeContent = (store: EventStore, threshold: number): LargeContentStore => {
  const limits: InlineLimits = { threshold, append: store.maxAppendBytes }
  const underWay = new Set<Promise<unknown>>()

  /**
   * Appends events, writing their blobs first: an interrupted append may leave an unreferenced blob, but never a reference without its
   * blob.
   */
  async function* appendCut(request: AppendRequest): Fallible<AppendError, AppendOutcome> {
    const planned = yield* unwrap(planOutside(request.events, limits))
    const events: StoredEvent[] = []
    for (const [index, whole] of request.events.entries()) {
      const literals = planned[index] ?? []
      const { event, contents } =
        literals.length > 0 ? cutLiterals(whole, literals) : { event: whole, contents: [] }
      for (const { sha256, chunks } of contents) yield* unwrap(store.blobs.put(sha256, chunks))
      events.push(event)
    }
    return yield* unwrap(store.append({ ...request, events }))
  }

  const tracked = <A>(appending: Promise<A>): Promise<A> => {
    const finished = appending.finally(() => underWay.delete(finished))
    underWay.add(finished)
    return finished
  }

  async function* readAll(range: AllRange): Fallible<StoreError | InvalidInput, AllPage> {
    const page = yield* unwrap(store.readAll(range))
    const part = bounded(page.events)
    const isWhole = part.length === page.events.length
    const checkpoint = isWhole ? page.checkpoint : part.at(-1)?.checkpoint
    const events = await restoreBlobs(store.blobs, part)
    if (E.isLeft(events)) return yield placed(events.left, part)
    return { events: events.right, checkpoint, isEnd: isWhole && page.isEnd }
  }

  /**
   * Returns the recorded end of a stream with the hash of the whole last event. The underlying store records the hash of the stored
   * form.
   */
  async function* keptEnd(stream: string): Fallible<StoreError, KeptEnd | undefined> {
    const kept = yield* unwrap(store.keptEnd(stream))
    if (!kept) return undefined
    const { last, hash } = kept
    const read = await store.read({ stream, from: last, direction: 'forwards', limit: 1 })()
    // The recorded end is known even if the event is damaged.
    if (E.isLeft(read)) return read.left._tag === 'DecodeFailed' ? kept : yield read.left
    const [event] = read.right
    if (!event || !isCut(event) || event.revision !== last || hashOf(event) !== hash) return kept
    const whole = await restoreBlobs(store.blobs, [event])
    return E.isRight(whole) && whole.right[0] ? { last, hash: hashOf(whole.right[0]) } : kept
  }

  async function* follow(options: FollowOptions): AsyncGenerator<FollowItem, void> {
    for await (const followed of store.follow(options)) {
      if (followed.type === 'checkpoint' || !isCut(followed.event)) yield followed
      else {
        const whole = await orThrow(restoreBlobs(store.blobs, [followed.event]))
        for (const event of whole) yield { ...followed, event }
      }
    }
  }

  return {
    ...store,
    check: (event) => (arePlain([event], limits) ? E.right(undefined) : planOutside([event], limits)),
    append: (request) => () => {
      // The adapter checks and copies the request.
      if (arePlain(request.events, limits)) return store.append(request)()
      const checked = checkAppend(request)
      return E.isLeft(checked) ? Promise.resolve(checked) : tracked(run(appendCut(checked.right)))
    },
    read: (range) => async () => {
      const page = await store.read(range)()
      return E.isLeft(page) ? page : restoreBlobs(store.blobs, bounded(page.right))
    },
    readAll: (range) => task(() => readAll(range)),
    keptEnd: (stream) => task(() => keptEnd(stream)),
    follow,
    close: () => async () => {
      await Promise.allSettled(underWay)
      return store.close()()
    },
  }
}

/** Adds the checkpoint of an event to an error about one of the event's blobs. */
const placed = (error: StoreError, page: readonly RecordedEvent[]): StoreError =>
  error._tag === 'BlobMissing' || error._tag === 'BlobDamaged'
    ? {
        ...error,
        checkpoint: page.find(({ id, stream }) => id === error.event && stream === error.stream)?.checkpoint,
      }
    : error
