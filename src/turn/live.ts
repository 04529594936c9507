import * as E from 'fp-ts/lib/Either.js'
import type { ConversationEvent } from '../events/events.ts'
import { type Effective, evolved } from '../projections/effective.ts'
import type { Conversation } from '../conversation/conversation.ts'
import type { ReadError } from '../store/errors.ts'

/** The effective history as of now, each time it is asked for. */
export type LiveHistory = () => Promise<E.Either<ReadError, Effective>>

/** Keeps the history that it gave last and takes in what has happened since: a turn of a long conversation reads what is new. */
export const liveHistory = (chat: Conversation): LiveHistory => {
  let known: Effective | undefined
  return async () => {
    // Another turn of the conversation may ask meanwhile.
    const before = known
    const since = before && (await eventsAfter(chat, before.at))
    if (since && E.isLeft(since)) return since
    const next = before && since && evolved(before, since.right)
    if (next) return E.right((known = next))
    const read = await chat.view()()
    if (E.isRight(read)) known = read.right
    return read
  }
}

/** What has happened since a position. */
export const eventsAfter = async (
  chat: Conversation,
  position: number,
): Promise<E.Either<ReadError, readonly ConversationEvent[]>> => {
  const events: ConversationEvent[] = []
  try {
    for await (const event of chat.events({ from: position + 1 })) events.push(event)
    return E.right(events)
  } catch (error) {
    return E.left(error as ReadError)
  }
}
