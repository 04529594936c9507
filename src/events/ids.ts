import { randomUUID } from 'node:crypto'
import { parse, v5 } from 'uuid'
import { z } from 'zod'

/** 1–200 characters of `A–Z a–z 0–9 . _ : -`. */
export const conversationIdSchema = z.string().regex(/^[A-Za-z0-9._:-]{1,200}$/, {
  error: 'a conversation id has 1 to 200 characters of A–Z a–z 0–9 . _ : -',
})

const prefix = 'conversation-'

/** The stream that holds a conversation. */
export const streamOf = (conversation: string): string => prefix + conversation

/** The conversation in a stream, or undefined for a stream that holds none. */
export const conversationOf = (stream: string): string | undefined =>
  stream.startsWith(prefix) ? stream.slice(prefix.length) : undefined

// Event ids derive from it: fixed for ever.
const namespace = parse('7d1b6a0e-6c3d-5c0f-9d6f-0b6c0a4c2e51')

/**
 * The id of the `index`-th event that a command writes to a stream: UUIDv5 (RFC 9562) of the three.
 * A repeated command has the same ids, which is how a store recognises it.
 */
export const eventId = (stream: string, commandId: string, index: number): string =>
  v5(`${stream}\n${commandId}\n${index}`, namespace)

/** A command id for a caller who names none. */
export const newCommandId = (): string => randomUUID()
