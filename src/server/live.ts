import type { Conversation, ConversationEvent, FollowConversations, Store } from '../index.ts'
import type { HeaderFields } from './request-input.ts'
import { requestError } from './problem.ts'
import type { SseMessage } from './sse.ts'

/**
 * Returns the position of the last event that the reader of a conversation's event stream has seen, from `Last-Event-ID`, or undefined
 * for a new reader. Throws `InvalidRequest`.
 */
export const lastSeen = (headers: HeaderFields): number | undefined => {
  const id = headers.get('last-event-id')
  if (id === null) return undefined
  if (!/^\d{1,16}$/.test(id))
    throw requestError('InvalidRequest', 'Last-Event-ID must be the id of an event in this stream')
  return Number(id)
}

/**
 * Yields a conversation's events after a position, then new ones as they are recorded. Yields `caught-up` once, after the event at
 * position `last`, which was the last one when the stream began.
 */
export async function* conversationLive(
  chat: Conversation,
  after: number,
  last: number,
  signal: AbortSignal,
  shown: (event: ConversationEvent) => object = (event) => event,
): AsyncGenerator<SseMessage, void> {
  let isTold = after >= last
  const caughtUp = { event: 'caught-up', data: { position: last } }
  if (isTold) yield caughtUp
  for await (const event of chat.events({ from: after + 1, follow: true, signal })) {
    yield { id: String(event.position), event: event.type, data: shown(event) }
    if (isTold || event.position < last) continue
    isTold = true
    yield caughtUp
  }
}

/** Yields the store's events after a checkpoint, then new ones as they are recorded. */
export async function* storeLive(
  store: Store,
  options: FollowConversations,
): AsyncGenerator<SseMessage, void> {
  for await (const followed of store.follow(options)) {
    const { checkpoint: id } = followed
    if (followed.type === 'checkpoint') yield { id }
    else {
      const { conversation, event } = followed
      yield { id, event: event.type, data: { conversation, event } }
    }
  }
}
