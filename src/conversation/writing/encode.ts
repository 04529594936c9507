import * as E from 'fp-ts/lib/Either.js'
import { encode, hashOf, type StoredEvent } from '../../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type { Actor, AnswerFlag, Event, EventData, EventType, Metadata } from '../../events/events.ts'
import { eventId, newCommandId, streamOf } from '../../events/ids.ts'
import { isoTimeOf } from './time.ts'

/** Who runs a command, when, and as part of what. */
export interface CommandEnvelope {
  /** Names the command: repeated under the same id it writes nothing and answers as the first time. Default: a new UUID. */
  readonly commandId?: string | undefined
  /** Default: what the store was opened with. */
  readonly actor?: Actor | undefined
  /** The time to record. Default: now. */
  readonly now?: Date | undefined
  readonly correlationId?: string | undefined
  readonly causationId?: string | undefined
  /** A turn that is running drops the reply that the model is giving (of which `keepPartial` keeps what is whole), and continues from here. */
  readonly interrupts?: true | undefined
  /** A worker (`store.worker`) is to answer this: `true`, or for which tenant and how soon. Default: nobody is asked. */
  readonly answer?: AnswerFlag | undefined
}
/** An envelope in which nothing is left to default. */
export interface CompleteEnvelope extends CommandEnvelope {
  readonly commandId: string
  readonly actor: Actor
  /** Whether the caller named the command, and so may repeat it. */
  readonly isNamed: boolean
}

/** Fills in what the envelope leaves open. */
export const completeEnvelope = (envelope: CommandEnvelope, actor: Actor): CompleteEnvelope => ({
  ...envelope,
  actor: envelope.actor ?? actor,
  commandId: envelope.commandId ?? newCommandId(),
  isNamed: envelope.commandId !== undefined,
})

/** What a command wrote. */
export interface WriteResult {
  readonly conversation: string
  /** The position of the last event written; where nothing had to be written, the conversation's last position. */
  readonly position: number
  /** What was written, in order. */
  readonly events: readonly WrittenEvent[]
}

/** An event that a command wrote, tagged on `type`. */
export type WrittenEvent<T extends EventType = EventType> = {
  readonly [K in T]: {
    readonly position: number
    readonly id: string
    readonly type: K
    /** Absent of a command that was given a `commandId`: another call with that id may have written the event. */
    readonly data?: EventData[K]
  }
}[T]

/**
 * What stored events are to the caller whose command wrote them from position `first` on.
 *
 * @param decided the same events before they were encoded, if nobody else can have written them
 */
export const writtenAt = (
  conversation: string,
  first: number,
  events: readonly StoredEvent[],
  decided: readonly Event[] = [],
): WriteResult => ({
  conversation,
  position: first + events.length - 1,
  events: events.map(({ id, type }, index) => {
    const event = decided[index]
    const position = first + index
    return event ? writtenOf(event, position, id) : { position, id, type: type as EventType }
  }),
})

const writtenOf = <T extends EventType>({ type, data }: Event<T>, position: number, id: string) =>
  ({ position, id, type, data }) as WrittenEvent<T>

/** What one command writes, as it is stored. */
export interface Chain {
  readonly events: readonly StoredEvent[]
  /** Of the last of them; without events, of the event before. */
  readonly hash: string | null
}

/** What the metadata of all events of one command have in common, in the order in which it is stored. */
export const metadataOf = ({
  actor,
  commandId,
  now = new Date(),
  correlationId,
  causationId,
  interrupts,
  answer,
}: CompleteEnvelope): Omit<Metadata, 'schema' | 'prev'> => ({
  time: isoTimeOf(now),
  actor,
  commandId,
  $correlationId: correlationId,
  $causationId: causationId,
  interrupts,
  answer,
})

/** The stored forms of what one command writes after an event of hash `prev`, chained to it and to each other. */
export const encodeChain = (
  conversation: string,
  prev: string | null,
  events: readonly Event[],
  envelope: CompleteEnvelope,
): E.Either<InvalidInput | EventTooLarge, Chain> => {
  const chain: StoredEvent[] = []
  const stream = streamOf(conversation)
  const { commandId, isNamed } = envelope
  const metadata = metadataOf(envelope)
  let hash = prev
  for (const event of events) {
    // A new UUID is as good an id as one derived from it.
    const isOwn = !isNamed && chain.length === 0
    const id = isOwn ? commandId : eventId(stream, commandId, chain.length)
    const stored = encode(event, id, { ...metadata, prev: hash })
    if (E.isLeft(stored)) return stored
    chain.push(stored.right)
    hash = hashOf(stored.right)
  }
  return E.right({ events: chain, hash })
}
