import { z } from 'zod'
import { START } from './events.ts'
import { type Codec, codecOf, type FactOf, type FactEnvelope } from './facts.ts'
import { newMessage } from './new-message.ts'

// What the user says while the model is busy, until it is moved into the conversation. In a stream of its own (ADR 24).

/** Last position of the conversation known to the writer. */
const at = z.int().min(START)

/** Schemas of the data of an inbox's events. */
const inboxSchemas = {
  /** A message was said while the model was busy. An append under the command id of this event moves it, so it is moved only once. */
  Queued: z.object({ messages: z.array(newMessage).min(1), at }),
  /** Everything queued up to this revision is in the conversation. */
  Taken: z.object({ through: z.int().min(0), at }),
}

type InboxEventType = keyof typeof inboxSchemas
export type InboxFact<T extends InboxEventType = InboxEventType> = FactOf<typeof inboxSchemas, T>
export type InboxEvent<T extends InboxEventType = InboxEventType> = InboxFact<T> & FactEnvelope

export const inboxCodec: Codec<typeof inboxSchemas> = codecOf(inboxSchemas)
