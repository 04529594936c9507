import { z } from 'zod'
import { START } from './events.ts'
import { type Codec, codecOf, type FactOf, type FactEnvelope } from './facts.ts'
import { conversationIdSchema } from './ids.ts'

// Facts about a conversation. They have their own stream (ADR 20), so they are not part of the conversation's log.

const at = z.int().min(START)
const text = z.string().min(1)
const sealed = z.never({ error: 'the key "sealed" is reserved' }).optional()

/**
 * Schemas of facts about a conversation that are recorded outside its own stream.
 *
 * 1. `at` is the conversation's last position known to the writer: the fact was noted after the event at that position.
 * 2. The notes and links of a conversation form one stream, chained by `prev` like the conversation's own; its first event has `prev`
 *    null.
 * 3. A link names its target: a conversation, a text, or both.
 */
export const noteSchemas = {
  /** A fact other than a message was noted about the conversation. */
  Noted: z.object({ kind: text, data: z.unknown().optional(), at, sealed }),
  /** The conversation was linked to another, or to something outside the store. */
  Linked: z
    .object({
      relation: text,
      conversation: conversationIdSchema.optional(),
      ref: text.optional(),
      /** Position in the linked conversation. */
      position: z.int().min(0).optional(),
      /** Id of a tool call in the linked conversation. */
      call: text.optional(),
      at,
    })
    .refine(({ conversation, ref }) => conversation !== undefined || ref !== undefined, {
      error: 'must name a conversation or a ref',
    }),
}

export type NoteType = keyof typeof noteSchemas
export type NoteFact<T extends NoteType = NoteType> = FactOf<typeof noteSchemas, T>
export type NoteEvent<T extends NoteType = NoteType> = NoteFact<T> & FactEnvelope

/** Reports whether events of this type belong to a stream of notes. */
export const isNoteType = (type: string): type is NoteType => Object.hasOwn(noteSchemas, type)

export const noteCodec: Codec<typeof noteSchemas> = codecOf(noteSchemas)
