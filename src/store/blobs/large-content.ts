import * as E from 'fp-ts/lib/Either.js'
import { hashOf, type StoredEvent } from '../../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import { checkedAppend } from '../checked-append.ts'
import { type StoreError, toError } from '../errors.ts'
import type { Append, Appended, EventStore, Followed, FollowOptions, RecordedEvent } from '../port.ts'
import { cut, isCut, referencesOf } from './cut.ts'
import { arePlain, type Limits, planOutside } from './plan.ts'
import { restored } from './restore.ts'

type Outcome = E.Either<StoreError | EventTooLarge | InvalidInput, Appended>

/** How much content from outside a page may bring along, in bytes, unless its first event alone has more. */
const pageBytes = 32 * 1024 * 1024

/** As much of a page as brings so much content along: a thousand pictures do not fit into memory as a thousand texts do. */
const bounded = (page: readonly RecordedEvent[]): readonly RecordedEvent[] => {
  let bytes = 0
  const end = page.findIndex((event, index) => {
    const references = isCut(event) ? (referencesOf(event) ?? []) : []
    for (const reference of references) bytes += reference.bytes
    return index > 0 && bytes > pageBytes
  })
  return end < 0 ? page : page.slice(0, end)
}

/** A store that keeps large content outside its events. */
export interface LargeContentStore extends EventStore {
  /** Whether the event can be appended, by itself, as far as its texts tell. */
  readonly check: (event: StoredEvent) => E.Either<EventTooLarge | InvalidInput, unknown>
}

/**
 * A store whose users see whole events, while it keeps strings above the threshold outside of them, each once. All that is said of
 * events (their texts, their hashes) is said of the whole ones, so the same conversation is the same under every threshold.
 *
 * @param threshold the most bytes of a string (UTF-8, escapes included) that stays in its event
 */
export const withLargeContent = (store: EventStore, threshold: number): LargeContentStore => {
  const limits: Limits = { threshold, append: store.maxAppendBytes }
  const underWay = new Set<Promise<unknown>>()

  /** Blobs first: what is interrupted leaves a blob that nothing refers to, never a reference to nothing. */
  const appendCut = async (request: Append): Promise<Outcome> => {
    const planned = planOutside(request.events, limits)
    if (E.isLeft(planned)) return planned
    const events: StoredEvent[] = []
    for (const [index, whole] of request.events.entries()) {
      const literals = planned.right[index] ?? []
      const { event, contents } = literals.length > 0 ? cut(whole, literals) : { event: whole, contents: [] }
      for (const { sha256, chunks } of contents) {
        const put = await store.blobs.put(sha256, chunks)()
        if (E.isLeft(put)) return put
      }
      events.push(event)
    }
    return store.append({ ...request, events })()
  }

  const tracked = (appending: Promise<Outcome>): Promise<Outcome> => {
    const finished = appending.finally(() => underWay.delete(finished))
    underWay.add(finished)
    return finished
  }

  async function* follow(options: FollowOptions): AsyncGenerator<Followed, void> {
    for await (const followed of store.follow(options)) {
      if (followed.type === 'checkpoint' || !isCut(followed.event)) yield followed
      else {
        const whole = await restored(store.blobs, [followed.event])
        if (E.isLeft(whole)) throw toError(whole.left)
        for (const event of whole.right) yield { ...followed, event }
      }
    }
  }

  return {
    ...store,
    check: (event) => (arePlain([event], limits) ? E.right(undefined) : planOutside([event], limits)),
    append: (request) => () => {
      const checked = checkedAppend(request)
      if (E.isLeft(checked)) return Promise.resolve(checked)
      const isPlain = arePlain(checked.right.events, limits)
      return isPlain ? store.append(checked.right)() : tracked(appendCut(checked.right))
    },
    read: (range) => async () => {
      const page = await store.read(range)()
      return E.isLeft(page) ? page : restored(store.blobs, bounded(page.right))
    },
    readAll: (range) => async () => {
      const page = await store.readAll(range)()
      if (E.isLeft(page)) return page
      const part = bounded(page.right.events)
      const isWhole = part.length === page.right.events.length
      const checkpoint = isWhole ? page.right.checkpoint : part.at(-1)?.checkpoint
      return E.map((events: readonly RecordedEvent[]) => ({ events, checkpoint }))(
        await restored(store.blobs, part),
      )
    },
    // The store remembers the hash of what it was given.
    keptEnd: (stream) => async () => {
      const kept = await store.keptEnd(stream)()
      if (E.isLeft(kept) || !kept.right) return kept
      const { last, hash } = kept.right
      const read = await store.read({ stream, from: last, direction: 'forwards', limit: 1 })()
      // What the store remembers of an event is known also where the event is damaged.
      if (E.isLeft(read)) return read.left._tag === 'DecodeFailed' ? kept : read
      const [event] = read.right
      if (!event || !isCut(event) || event.revision !== last || hashOf(event) !== hash) return kept
      const whole = await restored(store.blobs, [event])
      return E.isRight(whole) && whole.right[0] ? E.right({ last, hash: hashOf(whole.right[0]) }) : kept
    },
    follow,
    close: () => async () => {
      await Promise.allSettled(underWay)
      return store.close()()
    },
  }
}
