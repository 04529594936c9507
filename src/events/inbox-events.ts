import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { decodeAs, encodeAs, type StoredEvent } from './codec.ts'
import type { DecodeFailed, EventTooLarge, InvalidInput } from './errors.ts'
import { type DeepReadonly, type Metadata, START } from './events.ts'
import { newMessage } from './new-message.ts'

// What the user says while the model is busy, until it is moved into the conversation. In a stream of its own (ADR 24).

/** The conversation's last position as the writer knew it. */
const at = z.int().min(START)

/** The schema of the data of an inbox's events. */
export const inboxSchemas = {
  /** Said while the model was busy. It is moved by an append under the command id of this event, so only once. */
  Queued: z.object({ messages: z.array(newMessage).min(1), at }),
  /** All that was queued up to this revision is in the conversation. */
  Taken: z.object({ through: z.int().min(0), at }),
}

export type InboxEventType = keyof typeof inboxSchemas
type InboxEventData = { readonly [T in InboxEventType]: DeepReadonly<z.infer<(typeof inboxSchemas)[T]>> }

/** What is recorded in an inbox, tagged on `type`; without when, by whom and where. */
export type InboxFact<T extends InboxEventType = InboxEventType> = {
  readonly [K in T]: { readonly type: K; readonly data: InboxEventData[K] }
}[T]

/** The same as it was recorded. */
export type InboxEvent<T extends InboxEventType = InboxEventType> = InboxFact<T> & {
  /** 0-based index in the inbox. */
  readonly revision: number
  readonly id: string
  readonly metadata: Metadata
}

/** As `encode` of the codec. */
export const encodeInboxFact = (
  fact: InboxFact,
  id: string,
  metadata: Omit<Metadata, 'schema'>,
): E.Either<InvalidInput | EventTooLarge, StoredEvent> =>
  encodeAs(inboxSchemas[fact.type], fact, id, metadata)

/** As `decode` of the codec. */
export const decodeInboxEvent = (
  stored: StoredEvent,
  { stream, revision }: { readonly stream: string; readonly revision: number },
): E.Either<DecodeFailed, InboxEvent> =>
  E.map((decoded: object) => ({ ...decoded, revision, id: stored.id }) as InboxEvent)(
    decodeAs(inboxSchemas, stored, { stream, revision }),
  )
