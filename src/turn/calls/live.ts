import type { Conversation } from '../../conversation/conversation.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { type Effective, evolved } from '../../projections/effective.ts'
import { caught, ok, type Steps } from '../../result/steps.ts'
import type { ReadError } from '../../store/errors.ts'

/** The effective history as of now, each time it is called. */
export type LiveHistory = () => Steps<ReadError, Effective>

/** Keeps the history that it last gave and takes in what has happened since: a turn of a long conversation reads only what is new. */
export const liveHistory = (chat: Conversation): LiveHistory => {
  let known: Effective | undefined
  return async function* (): Steps<ReadError, Effective> {
    // Another turn of the conversation may call it meanwhile.
    const before = known
    const next = before && evolved(before, yield* eventsAfter(chat, before.at))
    known = next ?? (yield* ok(chat.context()))
    return known
  }
}

/** What has happened since a position. */
export const eventsAfter = (
  chat: Conversation,
  position: number,
): Steps<ReadError, readonly ConversationEvent[]> =>
  caught(async () => {
    const events: ConversationEvent[] = []
    for await (const event of chat.events({ from: position + 1 })) events.push(event)
    return events
  })
