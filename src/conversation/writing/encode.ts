import * as E from 'fp-ts/lib/Either.js'
import { encode, hashOf, type StoredEvent } from '../../events/codec.ts'
import type { EventTooLarge, InvalidInput } from '../../events/errors.ts'
import type {
  Actor,
  AnswerFlag,
  Event,
  EventData,
  EventType,
  Metadata,
  Workspace,
} from '../../events/events.ts'
import { eventId, newCommandId, newSalt, streamOf } from '../../events/ids.ts'

/** Metadata of a command: its id, actor, time and causes. */
export interface CommandEnvelope {
  /** Id of the command. A repeat under the same id writes nothing and returns the first result. Default: a new UUID. */
  readonly commandId?: string | undefined
  /** The actor to record. Default: the actor that the store was opened with. */
  readonly actor?: Actor | undefined
  /** The time to record. Default: now. */
  readonly now?: Date | undefined
  readonly correlationId?: string | undefined
  readonly causationId?: string | undefined
  /**
   * Makes a running turn drop the reply in progress and continue from this write. With `keepPartial`, the turn keeps the complete
   * blocks of the reply.
   */
  readonly interrupts?: true | undefined
  /** Salt of the command's first event: 16 random bytes in base64url. Default: new random bytes. */
  readonly salt?: string | undefined
  /** Requests an answer from a worker (`store.worker`): `true`, or an object with a tenant and a priority. Default: no request. */
  readonly answer?: AnswerFlag | undefined
  /** State of the files that the conversation is about, such as `await gitWorkspace('.')`. Default: not recorded. */
  readonly workspace?: Workspace | undefined
}
/** An envelope with all defaults filled in. */
export interface CompleteEnvelope extends CommandEnvelope {
  readonly commandId: string
  readonly actor: Actor
  /** True if the caller gave the command an id, and so may repeat the command. */
  readonly isNamed: boolean
  /** Returns the salt of the command's event with this index: the same one each time that the command is tried. */
  readonly saltAt: (index: number) => string
}

/** Creates the salts of a command's events, by index. The first one may be given. */
const saltsOf = (first: string | undefined): CompleteEnvelope['saltAt'] => {
  const salts = [first]
  return (index) => (salts[index] ??= newSalt())
}

export const completeEnvelope = (envelope: CommandEnvelope, actor: Actor): CompleteEnvelope => ({
  ...envelope,
  actor: envelope.actor ?? actor,
  commandId: envelope.commandId ?? newCommandId(),
  isNamed: envelope.commandId !== undefined,
  saltAt: saltsOf(envelope.salt),
})

/** The result of a command. */
export interface WriteResult {
  readonly conversation: string
  /** Position of the last event written; if nothing had to be written, the conversation's last position. */
  readonly position: number
  /** The events written, in order. */
  readonly events: readonly WrittenEvent[]
}

/** An event that a command wrote, tagged on `type`. */
export type WrittenEvent<T extends EventType = EventType> = {
  readonly [K in T]: {
    readonly position: number
    readonly id: string
    readonly type: K
    /**
     * Data of the event. Absent if the command was given a `commandId`, because another call with that id may have written the event.
     */
    readonly data?: EventData[K]
  }
}[T]

/**
 * Returns the result of a command from its stored events and the position of the first one.
 *
 * @param decided the same events before encoding, if no other call can have written them
 */
export const writeResultAt = (
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

/** The stored events of one command, chained by their hashes. */
export interface Chain {
  readonly events: readonly StoredEvent[]
  /** Hash of the last event. If there are no events, hash of the event after which they would be appended. */
  readonly hash: string | null
}

const minute = 60_000
let begun = Number.NaN
let text = ''

/**
 * Formats a date like `Date.toISOString`, but reuses the text of the previous call up to the minute. Formatting the whole time would
 * take 3 % of an append, because code that runs between two waits for the disk finds the CPU caches cold.
 */
export const isoTimeOf = (date: Date): string => {
  const time = date.getTime()
  const start = Math.floor(time / minute) * minute
  if (start !== begun) {
    text = new Date(start).toISOString().slice(0, -'00.000Z'.length)
    begun = start
  }
  const digits = String(100_000 + time - start)
  return `${text}${digits.slice(1, 3)}.${digits.slice(3)}Z`
}

/** Returns the metadata common to all events of one command. Its fields are in the order in which they are stored. */
export const metadataOf = ({
  actor,
  commandId,
  now = new Date(),
  correlationId,
  causationId,
  interrupts,
  answer,
  workspace,
}: CompleteEnvelope): Omit<Metadata, 'schema' | 'prev'> => ({
  time: isoTimeOf(now),
  actor,
  commandId,
  $correlationId: correlationId,
  $causationId: causationId,
  interrupts,
  answer,
  workspace,
})

/** Encodes the events of one command. Each is chained to the one before it, and the first to the event whose hash is `prev`. */
export const encodeChain = (
  conversation: string,
  prev: string | null,
  events: readonly Event[],
  envelope: CompleteEnvelope,
): E.Either<InvalidInput | EventTooLarge, Chain> => {
  const chain: StoredEvent[] = []
  const stream = streamOf(conversation)
  const { commandId, isNamed, saltAt } = envelope
  const metadata = metadataOf(envelope)
  let hash = prev
  for (const event of events) {
    // If the caller gave no command id, the new UUID itself is the id of the first event.
    const isOwn = !isNamed && chain.length === 0
    const id = isOwn ? commandId : eventId(stream, commandId, chain.length)
    const stored = encode(event, id, { ...metadata, salt: saltAt(chain.length), prev: hash })
    if (E.isLeft(stored)) return stored
    chain.push(stored.right)
    hash = hashOf(stored.right)
  }
  return E.right({ events: chain, hash })
}
