import * as E from 'fp-ts/lib/Either.js'
import { hashOf } from '../../events/codec.ts'
import { erasedStub } from '../../events/withheld.ts'
import type { InvalidInput } from '../../events/errors.ts'
import { unwrap, orThrow, type Fallible, task } from '../../result/fallible.ts'
import type { StoreError } from '../errors.ts'
import type {
  AllPage,
  AllRange,
  EventStore,
  FollowItem,
  FollowOptions,
  KeptEnd,
  RecordedEvent,
} from '../port.ts'
import { isCut } from '../marks.ts'
import { referencesOf } from './cut.ts'
import { restoreBlobs } from './restore.ts'

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

/** Returns a store that reads events whole, with the content that is stored outside them. */
export const withLargeContent = (store: EventStore): EventStore => {
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
    // Another process may have recorded the end before the event was erased. The record of the erasure proves what is left of it.
    if (event?.revision === last && erasedStub(event.metadata) !== undefined)
      return { last, hash: hashOf(event) }
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
    read: (range) => async () => {
      const page = await store.read(range)()
      return E.isLeft(page) || !page.right.some(isCut) ? page : restoreBlobs(store.blobs, bounded(page.right))
    },
    readAll: (range) => task(() => readAll(range)),
    keptEnd: (stream) => task(() => keptEnd(stream)),
    follow,
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
