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

/** Size of the events that are read at once for a stream, in characters of their JSON. Its reader may stop reading at any time. */
const readAtOnce = 32 * 1024
/** Maximum number of these events, and the number that is read first, when their size is not known yet. */
const [mostAtOnce, firstAtOnce] = [200, 4]

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
  const messageOf = (event: ConversationEvent) => ({
    id: String(event.position),
    event: event.type,
    json: JSON.stringify(shown(event)),
  })
  let from = after + 1
  for (let count = firstAtOnce; from <= last;) {
    const to = Math.min(last, from + count - 1)
    let size = 0
    for await (const event of chat.events({ from, to, signal })) {
      const message = messageOf(event)
      size += message.json.length
      yield message
    }
    if (signal.aborted) return
    count = Math.min(mostAtOnce, Math.max(1, Math.floor(((to + 1 - from) * readAtOnce) / size)))
    from = to + 1
  }
  yield { event: 'caught-up', data: { position: last } }
  for await (const event of chat.events({ from, follow: true, signal })) yield messageOf(event)
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
