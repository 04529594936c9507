import * as E from 'fp-ts/lib/Either.js'
import { type ConversationNotFound, conversationNotFound } from '../../commands/rejections.ts'
import type { StoredEvent } from '../../events/codec.ts'
import { notesStreamOf, streamOf, turnsStreamOf } from '../../events/ids.ts'
import { orThrow, run } from '../../result/fallible.ts'
import { breath } from '../../store/breath.ts'
import { eventMissing } from '../../store/dense.ts'
import { toError } from '../../result/typed-error.ts'
import { loadLineage, ofItself, originOf } from './lineage.ts'
import { pagesOf } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import { extentOf } from '../../store/whole/whole-writes.ts'

/** A stored event, byte for byte, with its conversation and revision. */
export interface PlacedEvent extends StoredEvent {
  readonly conversation: string
  /**
   * 0-based index of the event in the conversation's own stream; for a `Noted` or `Linked`, in the stream of the conversation's notes;
   * for an event recorded by a turn, in the stream of its turns.
   */
  readonly revision: number
}

/**
 * Yields the stored events of a conversation, in order, followed by its notes. For a fork, first yields the events and notes of each
 * conversation that it was forked from, oldest first. Throws a `ReadError` during iteration.
 */
export async function* readStoredEvents(
  store: EventStore,
  conversation: string,
): AsyncGenerator<PlacedEvent, void> {
  const lineage: string[] = []
  for (let id: string | undefined = conversation; id !== undefined; id = await parentOf(store, id)) {
    if (lineage.includes(id)) throw toError(ofItself(streamOf(id)))
    lineage.unshift(id)
  }
  for (const id of lineage) {
    yield* eventsOf(store, id, streamOf(id), conversationNotFound(id))
    yield* eventsOf(store, id, notesStreamOf(id))
  }
}

/**
 * Yields the stored events of a conversation up to and including a position, without notes. For a fork, includes the events that it
 * shares with the conversations it was forked from. Throws a `ReadError` during iteration.
 */
export async function* readStoredThrough(
  store: EventStore,
  conversation: string,
  position: number,
): AsyncGenerator<PlacedEvent, void> {
  const lineage = await orThrow(loadLineage(store, conversation))
  if (!lineage) throw toError(conversationNotFound(conversation))
  for (const { conversation: id, stream, offset, last } of lineage.toReversed())
    yield* eventsOf(store, id, stream, conversationNotFound(id), Math.min(last, position) - offset)
}

/** Yields the stored events that the turns of a conversation recorded. Throws a `StoreError` during iteration. */
export const readStoredTurns = (store: EventStore, conversation: string): AsyncGenerator<PlacedEvent, void> =>
  eventsOf(store, conversation, turnsStreamOf(conversation))

/**
 * Yields the stored events of one stream.
 *
 * @param missing the error to throw if the stream has no events; undefined if the stream may be empty
 * @param through the last requested revision
 */
async function* eventsOf(
  store: EventStore,
  conversation: string,
  stream: string,
  missing?: ConversationNotFound,
  through = Infinity,
): AsyncGenerator<PlacedEvent, void> {
  const extent = await orThrow(run(extentOf(store, stream)))
  if (extent.most < 0 && missing) throw toError(missing)
  const [least, most] = [Math.min(extent.least, through), Math.min(extent.most, through)]
  let next = 0
  for await (const page of pagesOf(store, stream, { to: most })) {
    for (const { revision, id, type, data, metadata } of await orThrow(page)) {
      yield { conversation, revision, id, type, data, metadata }
      next = revision + 1
    }
    await breath()
  }
  if (next <= least) throw toError(eventMissing(stream, next))
}

const parentOf = async (store: EventStore, conversation: string): Promise<string | undefined> => {
  const stream = streamOf(conversation)
  const [first] = await orThrow(store.read({ stream, from: 0, direction: 'forwards', limit: 1 }))
  if (!first) throw toError(conversationNotFound(conversation))
  // Only the origin is needed here; an event that cannot be decoded is exported unchanged.
  const origin = originOf(first)
  return E.isRight(origin) ? origin.right?.conversation : undefined
}
