import type * as E from 'fp-ts/lib/Either.js'
import { decode } from '../../events/codec.ts'
import type { InvalidInput } from '../../events/errors.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { streamOf } from '../../events/ids.ts'
import type { Own } from './lineage.ts'
import { openAt, openFrom } from './log.ts'
import { orNearest } from './nearest-conversation.ts'
import { pages, readRecordedAt } from './reader.ts'
import { type PlacedEvent, readStoredEvents, readStoredThrough, readStoredTurns } from './stored-events.ts'
import { orThrow } from '../../result/fallible.ts'
import { checkOptions, kinds } from '../../store/options.ts'
import type { EventStore } from '../../store/port.ts'

export interface EventsOptions {
  /** First position, inclusive. Default 0. */
  readonly from?: number | undefined
  /** Last position, inclusive. Default: the last position of the conversation. */
  readonly to?: number | undefined
  /** True to continue with new events until the signal aborts or the store closes. Default false. */
  readonly follow?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export interface StoredOptions extends Pick<EventsOptions, 'to'> {
  readonly turns?: boolean | undefined
}

/** Methods that iterate over a conversation's events. */
export interface EventFollower {
  /**
   * Yields the events as recorded, in order of position, from `from` to `to`, both inclusive. With `follow`, continues with new events.
   * Throws a `ReadError` during iteration.
   *
   * @example
   * for await (const { position, type, metadata } of chat.events({ from: 2 })) console.log(position, type, metadata.time)
   */
  readonly events: (options?: EventsOptions) => AsyncIterable<ConversationEvent>
  /**
   * Yields the stored events byte for byte, for an export that another store can import: first the events of the conversations that
   * this one was forked from, then its own, each conversation followed by its notes. With `to`, yields only the events up to and
   * including that position, in order. With `turns`, yields the log of this conversation's turns instead. Throws a `ReadError` during
   * iteration.
   *
   * @example
   * for await (const { revision, type, data } of chat.stored()) console.log(revision, type, data.length)
   */
  readonly stored: (options?: StoredOptions) => AsyncIterable<PlacedEvent>
}

const eventsFields = { from: kinds.first, to: kinds.last, follow: kinds.flag, signal: kinds.signal }

export const createEventFollower = (
  store: EventStore,
  id: string,
  checkedId: E.Either<InvalidInput, string>,
  own: Own,
): EventFollower => {
  async function* events(options?: EventsOptions): AsyncGenerator<ConversationEvent, void> {
    const {
      from = 0,
      to = Infinity,
      follow = false,
      signal,
    } = await orThrow(checkOptions(options, eventsFields))
    await orThrow(checkedId)
    // A range with an end may be much shorter than a page.
    const open = () => (to === Infinity ? openFrom(store, id, from, own) : openAt(store, id, undefined, own))
    const { reading, lineage, last } = await orThrow(orNearest(store, open))
    for await (const page of pages(reading, from, Math.min(to, last)))
      for (const event of page) {
        if (signal?.aborted) return
        yield event
      }
    if (!follow || to <= last || signal?.aborted) return
    const newest = await orThrow(readRecordedAt(store, lineage, last))
    const after = newest?.checkpoint
    const stream = streamOf(id)
    for await (const followed of store.follow({
      prefixes: [stream],
      ...(after !== undefined && { after }),
      ...(signal && { signal }),
    })) {
      if (followed.type !== 'event' || followed.event.stream !== stream) continue
      const { revision } = followed.event
      const position = last + revision - (newest?.revision ?? 0)
      const event = await orThrow(decode(followed.event, { stream, revision, position }))
      // The events of an import are reported only once it is complete, and some may have been yielded already.
      if (position >= from && position > last) yield event
      if (position >= to) return
    }
  }

  return {
    events,
    stored: async function* (options) {
      const { to, turns } = await orThrow(checkOptions(options, { to: kinds.last, turns: kinds.flag }))
      await orThrow(checkedId)
      if (turns) yield* readStoredTurns(store, id)
      else yield* to === undefined ? readStoredEvents(store, id) : readStoredThrough(store, id, to)
    },
  }
}
