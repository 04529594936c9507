import { hash, randomUUID } from 'node:crypto'
import { z } from 'zod'

const idPattern = /^[A-Za-z0-9._:-]{1,200}$/

/** 1–200 characters of `A–Z a–z 0–9 . _ : -`. */
export const conversationIdSchema = z.string().regex(idPattern, {
  error: 'a conversation id has 1 to 200 characters of A–Z a–z 0–9 . _ : -',
})

/** Whether this is a conversation id; the schema says what is wrong with one that is not. */
export const isConversationId = (id: unknown): boolean => typeof id === 'string' && idPattern.test(id)

const prefix = 'conversation-'

/** The stream that holds a conversation. */
export const streamOf = (conversation: string): string => prefix + conversation

/** The conversation in a stream, or undefined for a stream that holds none. */
export const conversationOf = (stream: string): string | undefined =>
  stream.startsWith(prefix) ? stream.slice(prefix.length) : undefined

const notesPrefix = 'notes-'

/** The stream that holds the notes and links of a conversation. */
export const notesStreamOf = (conversation: string): string => notesPrefix + conversation

/** The conversation that a stream of notes is about, or undefined for a stream that holds none. */
export const notedIn = (stream: string): string | undefined =>
  stream.startsWith(notesPrefix) ? stream.slice(notesPrefix.length) : undefined

/** The stream that holds what its turns did: which tools were started, which calls wait, who decided. */
export const turnsStreamOf = (conversation: string): string => `turns-${conversation}`

/** The stream that holds what the user says while the model is busy, until it is in the conversation. */
export const inboxStreamOf = (conversation: string): string => `inbox-${conversation}`

/** The conversation whose turns a stream records, or undefined for any other stream. */
export const turnedIn = (stream: string): string | undefined =>
  stream.startsWith('turns-') ? stream.slice('turns-'.length) : undefined

/** The conversation whose inbox a stream is, or undefined for any other stream. */
export const queuedIn = (stream: string): string | undefined =>
  stream.startsWith('inbox-') ? stream.slice('inbox-'.length) : undefined

const workerPrefix = 'worker-'

/** The stream in which a worker says that it lives. */
export const workerStreamOf = (worker: string): string => workerPrefix + worker

/** The worker whose stream this is, or undefined for any other stream. */
export const workerOf = (stream: string): string | undefined =>
  stream.startsWith(workerPrefix) ? stream.slice(workerPrefix.length) : undefined

// Event ids derive from it: fixed for ever.
const namespace = Buffer.from('7d1b6a0e6c3d5c0f9d6f0b6c0a4c2e51', 'hex')
const room = ' '.repeat(namespace.length)

/**
 * The id of the `index`-th event that a command writes to a stream: UUIDv5 (RFC 9562, section 5.5) of the three.
 * A repeated command has the same ids, which is how a store recognises it.
 */
export const eventId = (stream: string, commandId: string, index: number): string => {
  const name = Buffer.from(`${room}${stream}\n${commandId}\n${index}`)
  name.set(namespace)
  const hex = hash('sha1', name)
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** A command id for a caller who names none. */
export const newCommandId = (): string => randomUUID()
