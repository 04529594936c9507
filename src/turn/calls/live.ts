import type * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../../conversation/conversation.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { type Effective, evolved } from '../../projections/effective.ts'
import { caught, ok, run, type Steps } from '../../result/steps.ts'
import type { ReadError } from '../../store/errors.ts'
import { type Asked, askedAfter, askedUpTo } from './asked.ts'

/** The effective history as of now, each time it is called. */
export interface LiveHistory {
  (): Steps<ReadError, Effective>
  /** Begins to read what the next call gives, beside whatever else there is to read. */
  readonly begin: () => void
  /** What was asked of workers, as of the history that was given last. */
  readonly asked: () => Steps<ReadError, Asked>
}

/** Keeps the history that it last gave and takes in what has happened since: a turn of a long conversation reads only what is new. */
export const liveHistory = (chat: Conversation): LiveHistory => {
  let known: { readonly now: Effective; readonly asked?: Asked | undefined } | undefined
  let begun: Promise<E.Either<ReadError, Effective>> | undefined

  async function* history(): Steps<ReadError, Effective> {
    const first = begun
    begun = undefined
    return first ? yield* ok(first) : yield* read()
  }
  async function* read(): Steps<ReadError, Effective> {
    // Another turn of the conversation may call it meanwhile.
    const before = known
    const later = before ? yield* eventsAfter(chat, before.now.at) : []
    const next = before && evolved(before.now, later)
    const now = next ?? (yield* ok(chat.context()))
    known = { now, asked: next && before?.asked && later.reduce(askedAfter, before.asked) }
    return now
  }
  async function* asked(): Steps<ReadError, Asked> {
    const { now, asked: before } = known ?? { now: yield* history() }
    if (before) return before
    const found = yield* askedUpTo(chat, now.at)
    if (known?.now === now) known = { now, asked: found }
    return found
  }
  const begin = (): void => {
    begun = run(read())
  }
  return Object.assign(history, { begin, asked })
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
