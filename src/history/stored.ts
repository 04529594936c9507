import * as E from 'fp-ts/lib/Either.js'
import { conversationNotFound } from '../commands/rejections.ts'
import type { StoredEvent } from '../events/codec.ts'
import { streamOf } from '../events/ids.ts'
import { breath } from '../store/breath.ts'
import { eventMissing } from '../store/dense.ts'
import { toError } from '../store/errors.ts'
import { ofItself, originOf } from './lineage.ts'
import { type EventStore, type RecordedEvent, streamPage } from '../store/port.ts'
import { type Extent, extentOf } from '../store/whole/whole-writes.ts'

/** An event to the byte, and where it stands. */
export interface PlacedEvent extends StoredEvent {
  readonly conversation: string
  /** 0-based index in the conversation's own stream. */
  readonly revision: number
}

/**
 * The events of a conversation as they are stored, in order; before them those of the conversations that it was forked from, oldest
 * first. Iteration throws a `ReadError`.
 */
export async function* storedEvents(
  store: EventStore,
  conversation: string,
): AsyncGenerator<PlacedEvent, void> {
  const lineage: string[] = []
  for (let id: string | undefined = conversation; id !== undefined; id = await parentOf(store, id)) {
    if (lineage.includes(id)) throw toError(ofItself(streamOf(id)))
    lineage.unshift(id)
  }
  for (const id of lineage) {
    const { least, most } = await extent(store, id)
    for (let from = 0; from <= most;) {
      const read = await page(store, id, from, Math.min(streamPage, most + 1 - from))
      if (read.length === 0 && from <= least) throw toError(eventMissing(streamOf(id), from))
      if (read.length === 0) break
      for (const { revision, id: eventId, type, data, metadata } of read)
        yield { conversation: id, revision, id: eventId, type, data, metadata }
      from += read.length
      await breath()
    }
  }
}

const extent = async (store: EventStore, conversation: string): Promise<Extent> => {
  const found = await extentOf(store, streamOf(conversation))
  if (E.isLeft(found)) throw toError(found.left)
  if (found.right.most < 0) throw toError(conversationNotFound(conversation))
  return found.right
}

const page = async (
  store: EventStore,
  conversation: string,
  from: number,
  limit = streamPage,
): Promise<readonly RecordedEvent[]> => {
  const read = await store.read({ stream: streamOf(conversation), from, direction: 'forwards', limit })()
  if (E.isLeft(read)) throw toError(read.left)
  return read.right
}

const parentOf = async (store: EventStore, conversation: string): Promise<string | undefined> => {
  const [first] = await page(store, conversation, 0, 1)
  if (!first) throw toError(conversationNotFound(conversation))
  // Only its beginning is read here: what cannot be decoded is exported as it is.
  const origin = originOf(first)
  return E.isRight(origin) ? origin.right?.conversation : undefined
}
