import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../events/errors.ts'
import { breath } from './breath.ts'
import { toError } from '../result/typed-error.ts'
import type { StoreError } from './errors.ts'
import {
  type AllRange,
  type Checkpoint,
  type FollowItem,
  type FollowOptions,
  largePage,
  type RecordedEvent,
  streamPage,
} from './port.ts'
import type { TailListener, TailSource, Tail } from './tail.ts'

/** Maximum number of events queued for a follower. A slower follower reads the dropped events from the store again. */
const mostWaiting = 1_000
/** Number of events that a follower reads first, when their size is not known yet. */
const firstPage = 16
/** Maximum size of the data of these events, in characters. A single event may be larger. */
const largestWaiting = 2 * largePage

/**
 * Yields existing events, then new ones as they are written; implements `follow` for stores without subscriptions. A follower reads the
 * store itself until it reaches the end. After that, it gets events from the tail, which reads once for all followers. Ends when the
 * store is closed.
 */
export async function* followTail(
  source: TailSource,
  tail: Tail,
  { prefixes = [''], after, signal }: FollowOptions,
): AsyncGenerator<FollowItem, void> {
  const inbox = inboxOf(prefixes)
  signal?.addEventListener('abort', inbox.wake)
  let leave: (() => void) | undefined
  try {
    let limit = firstPage
    for (let at = after; !signal?.aborted && !source.isClosed();) {
      const range: AllRange = { after: at, limit, prefixes }
      const page = await source.page(range)
      if (E.isLeft(page)) return ended(page.left)
      const { events, checkpoint, isEnd } = page.right
      limit = limitAfter(events) ?? limit
      if (isEnd) leave = tail.join(inbox.listener, checkpoint)
      for (const event of events) {
        if (signal?.aborted) return
        yield { type: 'event', event, checkpoint: event.checkpoint }
        await breath()
      }
      if (checkpoint !== undefined && checkpoint !== (events.at(-1)?.checkpoint ?? at))
        yield { type: 'checkpoint', checkpoint }
      at = checkpoint
      while (leave && !signal?.aborted && !source.isClosed()) {
        const followed = inbox.take(at)
        if (followed) {
          at = followed.checkpoint
          yield followed
          await breath()
        } else if (inbox.isFull()) {
          leave()
          leave = undefined
          inbox.clear()
        } else if (inbox.isOver()) return ended(inbox.error())
        else await inbox.next()
      }
    }
  } finally {
    leave?.()
    signal?.removeEventListener('abort', inbox.wake)
  }
}

/** Returns the number of events to read next, from the size of those read before, so that a follower that stops holds little. */
const limitAfter = (events: readonly RecordedEvent[]): number | undefined => {
  const size = events.reduce((sum, { data }) => sum + data.length, 0)
  if (size === 0) return undefined
  return Math.min(streamPage, Math.max(1, Math.floor((events.length * largePage) / size)))
}

const ended = (error: StoreError | InvalidInput | undefined): void => {
  if (error && error._tag !== 'StoreClosed') throw toError(error)
}

/** Queue of the items that the tail has passed to a follower and that the follower has not yet taken. */
interface Inbox {
  readonly listener: TailListener
  /** Takes the next item after a checkpoint; returns undefined if the queue has none. */
  readonly take: (at: Checkpoint | undefined) => FollowItem | undefined
  /**
   * Reports whether events were dropped because the queue was full. They must be read from the store, starting after the last event
   * taken.
   */
  readonly isFull: () => boolean
  readonly isOver: () => boolean
  readonly error: () => StoreError | InvalidInput | undefined
  readonly clear: () => void
  /** Resolves when something new has arrived. */
  readonly next: () => Promise<void>
  readonly wake: () => void
}

const inboxOf = (prefixes: readonly string[]): Inbox => {
  const waiting: RecordedEvent[] = []
  let size = 0
  let reached: Checkpoint | undefined
  let isFull = false
  let over: { readonly error: StoreError | InvalidInput | undefined } | undefined
  let isNew = false
  let resume: (() => void) | undefined
  const wake = (): void => {
    isNew = true
    resume?.()
  }
  return {
    listener: {
      prefixes,
      event: (event) => {
        const { length } = event.data
        const hasRoom =
          waiting.length === 0 || (waiting.length < mostWaiting && size + length <= largestWaiting)
        if (hasRoom && !isFull) {
          waiting.push(event)
          size += length
        } else isFull = true
        reached = undefined
        wake()
      },
      reached: (checkpoint) => {
        reached = checkpoint
        wake()
      },
      ended: (error) => {
        over = { error }
        wake()
      },
    },
    take: (at) => {
      const event = waiting.shift()
      if (event) {
        size -= event.data.length
        return { type: 'event', event, checkpoint: event.checkpoint }
      }
      if (isFull || reached === undefined || reached === at) return undefined
      return { type: 'checkpoint', checkpoint: reached }
    },
    isFull: () => isFull,
    isOver: () => over !== undefined,
    error: () => over?.error,
    clear: () => {
      isFull = false
      reached = undefined
    },
    next: async () => {
      if (!isNew)
        await new Promise<void>((resolve) => {
          resume = resolve
        })
      isNew = false
    },
    wake,
  }
}
