import * as E from 'fp-ts/lib/Either.js'
import { inboxStreamOf, streamOf, turnsStreamOf, workerStreamOf } from '../../../events/ids.ts'
import { type Fallible, orThrow, unwrap } from '../../../result/fallible.ts'
import { isTyped } from '../../../result/typed-error.ts'
import { isKeyMissing, type StoreError } from '../../../store/errors.ts'
import { breath } from '../../../store/breath.ts'
import { type Checkpoint, type EventStore, maxPage, type RecordedEvent } from '../../../store/port.ts'
import { type Clock, pause } from '../peers/clock.ts'

/** Listener for the events of a store, in its global order. */
interface FeedListener {
  /** Returns the checkpoint to begin at. If this function rejects, it is called again after a wait. */
  readonly begin: () => Promise<Checkpoint | undefined>
  readonly event: (event: RecordedEvent) => void
  /** Called when all existing events have been delivered. Later events are delivered as they are written. */
  readonly caughtUp: () => void
  /** Called when the store temporarily cannot be read. */
  readonly lost: () => void
}

/** Returns the prefixes of the streams that workers follow to serve conversations with these id prefixes. */
export const prefixesOf = (conversations: readonly string[]): readonly string[] => [
  workerStreamOf(''),
  ...conversations.flatMap((prefix) => [streamOf(prefix), turnsStreamOf(prefix), inboxStreamOf(prefix)]),
]

/**
 * Delivers all events of these streams after a checkpoint; stops early if the signal aborts.
 *
 * @returns the checkpoint of the last event read
 */
export const readTo = async (
  store: EventStore,
  prefixes: readonly string[],
  from: Checkpoint | undefined,
  tell: (event: RecordedEvent) => void,
  signal?: AbortSignal,
): Promise<Checkpoint | undefined> => {
  let limit = maxPage
  for (let after = from; ;) {
    if (signal?.aborted) return after
    const read = await store.readAll({ prefixes, after, limit })()
    // A conversation whose key is missing must not stop the others: its events are skipped.
    if (E.isLeft(read) && isKeyMissing(read.left) && read.left.checkpoint !== undefined) {
      if (limit === 1) after = read.left.checkpoint
      else limit = Math.ceil(limit / 2)
      continue
    }
    limit = Math.min(2 * limit, maxPage)
    const page = await orThrow(read)
    for (const event of page.events) tell(event)
    if (page.checkpoint === undefined || (page.events.length === 0 && page.checkpoint === after)) return after
    after = page.checkpoint
    if (page.isEnd) return after
    await breath()
  }
}

/** Returns the last event of a stream up to and including a revision; undefined if there is none. */
export async function* lastEvent(
  store: EventStore,
  stream: string,
  from = Number.MAX_SAFE_INTEGER,
): Fallible<StoreError, RecordedEvent | undefined> {
  return (yield* unwrap(store.read({ stream, from, direction: 'backwards', limit: 1 })))[0]
}

const reconnectWait = 250

/**
 * Follows streams until the signal aborts or the store is closed or replaced. After an outage of the store, resumes at the last
 * checkpoint.
 */
export const runFeed = async (
  { store, clock }: { readonly store: EventStore; readonly clock: Clock },
  prefixes: readonly string[],
  { begin, event, caughtUp, lost }: FeedListener,
  signal: AbortSignal,
): Promise<void> => {
  let after: Checkpoint | undefined
  let hasBegun = false
  const take = (recorded: RecordedEvent): void => {
    if (signal.aborted) return
    after = recorded.checkpoint
    event(recorded)
  }
  while (!signal.aborted) {
    try {
      if (!hasBegun) after = await begin()
      hasBegun = true
      after = await readTo(store, prefixes, after, take, signal)
      if (signal.aborted) return
      caughtUp()
      for await (const followed of store.follow({ prefixes, after, signal, untilBroken: true })) {
        if (followed.type === 'event') take(followed.event)
        after = followed.checkpoint
      }
      // Without an error, the loop ends only if the store is closed or the signal aborts.
      return
    } catch (error) {
      lost()
      if (isTyped(error) && isStoreGone(E.left(error))) return
      await pause(clock, reconnectWait, signal)
    }
  }
}

/** Reports whether a store is closed or its file was replaced, so that waiting for it is useless. */
export const isStoreGone = (answer: E.Either<{ readonly _tag: string }, unknown>): boolean =>
  E.isLeft(answer) && (answer.left._tag === 'StoreClosed' || answer.left._tag === 'StoreReplaced')
