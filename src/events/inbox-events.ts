import { z } from 'zod'
import { START } from './events.ts'
import { type Codec, codecOf, type FactOf, type FactEnvelope } from './facts.ts'
import { newMessage } from './new-message.ts'

// Messages that the user sends while the model is busy, until they are moved into the conversation, in their own stream (ADR 24).

/** Last position of the conversation known to the writer. */
const at = z.int().min(START)

const inboxSchemas = {
  /**
   * A message was sent while the model was busy. It is appended to the conversation under the command id of this event, so it is moved
   * only once.
   */
  Queued: z.object({ messages: z.array(newMessage).min(1), at }),
  /** All messages queued up to revision `through` are in the conversation. */
  Taken: z.object({ through: z.int().min(0), at }),
}

type InboxEventType = keyof typeof inboxSchemas
export type InboxFact<T extends InboxEventType = InboxEventType> = FactOf<typeof inboxSchemas, T>
export type InboxEvent<T extends InboxEventType = InboxEventType> = InboxFact<T> & FactEnvelope

export const inboxCodec: Codec<typeof inboxSchemas> = codecOf(inboxSchemas)
