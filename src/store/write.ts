import * as E from 'fp-ts/lib/Either.js'
import { encode, hashOf, type StoredEvent } from '../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../events/errors.ts'
import type { Actor, Event, EventType } from '../events/events.ts'
import { eventId, streamOf } from '../events/ids.ts'

/** Who asks for something, when, and as part of what. */
export interface Envelope {
  /** Names the command: repeated under the same id it writes nothing and answers as the first time. Default: a new UUID. */
  readonly commandId?: string
  /** Default: what the store was opened with. */
  readonly actor?: Actor
  /** The time to record. Default: now. */
  readonly now?: Date
  readonly correlationId?: string
  readonly causationId?: string
}
/** An envelope in which nothing is left to default. */
export type Sealed = Envelope & Required<Pick<Envelope, 'commandId' | 'actor'>>

/** What a command wrote. */
export interface Written {
  readonly conversation: string
  /** The position of the last event written; where nothing had to be written, the conversation's last position. */
  readonly position: number
  /** What was written, in order. */
  readonly events: readonly { readonly position: number; readonly id: string; readonly type: EventType }[]
}

/** What stored events are to the caller whose command wrote them from position `first` on. */
export const writtenAt = (conversation: string, first: number, events: readonly StoredEvent[]): Written => ({
  conversation,
  position: first + events.length - 1,
  events: events.map(({ id, type }, index) => ({ position: first + index, id, type: type as EventType })),
})

/** The stored forms of what one command writes behind an event of hash `prev`, chained to it and to each other. */
export const encodeChain = (
  conversation: string,
  prev: string | null,
  events: readonly Event[],
  { commandId, actor, now = new Date(), correlationId, causationId }: Sealed,
): E.Either<InvalidInput | EventTooLarge, readonly StoredEvent[]> => {
  const chain: StoredEvent[] = []
  for (const event of events) {
    const before = chain.at(-1)
    const stored = encode(event, eventId(streamOf(conversation), commandId, chain.length), {
      time: now.toISOString(),
      actor,
      commandId,
      ...(correlationId !== undefined && { $correlationId: correlationId }),
      ...(causationId !== undefined && { $causationId: causationId }),
      prev: before ? hashOf(before) : prev,
    })
    if (E.isLeft(stored)) return stored
    chain.push(stored.right)
  }
  return E.right(chain)
}
