import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { decodeAs, encodeAs, type StoredEvent } from './codec.ts'
import type { DecodeFailed, EventTooLarge, InvalidInput } from './errors.ts'
import { type DeepReadonly, type Metadata, START } from './events.ts'
import { conversationIdSchema } from './ids.ts'

// Facts beside a conversation. They are in a stream of their own (ADR 20), so they are no part of the conversation's log.

const at = z.int().min(START)
const text = z.string().min(1)
const sealed = z.never({ error: 'the key "sealed" is reserved' }).optional()

/**
 * The schema of the data of facts beside a conversation.
 *
 * 1. `at` is the conversation's last position as its writer knew it: the fact was noted after the event there.
 * 2. The notes of a conversation are one stream, chained by `prev` like the conversation's own; a first event has `prev` null.
 * 3. A link names its other end: a conversation, a text, or both.
 */
export const noteSchemas = {
  /** Something worth keeping was noted that is not a message. */
  Noted: z.object({ kind: text, data: z.unknown().optional(), at, sealed }),
  /** The conversation was linked to another, or to something that the store does not know. */
  Linked: z
    .object({
      relation: text,
      conversation: conversationIdSchema.optional(),
      ref: text.optional(),
      /** In the other conversation. */
      position: z.int().min(0).optional(),
      /** Id of a tool call in the other conversation. */
      call: text.optional(),
      at,
    })
    .refine(({ conversation, ref }) => conversation !== undefined || ref !== undefined, {
      error: 'names neither a conversation nor a ref',
    }),
}

export type NoteType = keyof typeof noteSchemas
type NoteData = { readonly [T in NoteType]: DeepReadonly<z.infer<(typeof noteSchemas)[T]>> }

/** A fact beside a conversation, tagged on `type`; without when, by whom and where. */
export type Fact<T extends NoteType = NoteType> = {
  readonly [K in T]: { readonly type: K; readonly data: NoteData[K] }
}[T]

/** A fact beside a conversation, as it was recorded. */
export type NoteEvent<T extends NoteType = NoteType> = Fact<T> & {
  /** 0-based index in the stream of notes. */
  readonly revision: number
  readonly id: string
  readonly metadata: Metadata
}

/** Whether this is the type of an event in a stream of notes. */
export const isNoteType = (type: string): type is NoteType => Object.hasOwn(noteSchemas, type)

/** As `encode` of the codec. */
export const encodeNote = (
  fact: Fact,
  id: string,
  metadata: Omit<Metadata, 'schema'>,
): E.Either<InvalidInput | EventTooLarge, StoredEvent> => encodeAs(noteSchemas[fact.type], fact, id, metadata)

/** As `decode` of the codec. */
export const decodeNote = (
  stored: StoredEvent,
  place: { readonly stream: string; readonly revision: number },
): E.Either<DecodeFailed, NoteEvent> => {
  const decoded = decodeAs(noteSchemas, stored, place)
  if (E.isLeft(decoded)) return decoded
  return E.right({ ...decoded.right, revision: place.revision, id: stored.id } as NoteEvent)
}
