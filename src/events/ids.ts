import { hash, randomUUID } from 'node:crypto'
import { z } from 'zod'

// `.` and `..` are no names in an address, however they are escaped.
const idPattern = /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,200}$/

/** 1–200 characters of `A–Z a–z 0–9 . _ : -`; not `.` or `..`. */
export const conversationIdSchema = z.string().regex(idPattern, {
  error: 'a conversation id has 1 to 200 characters of A–Z a–z 0–9 . _ : -, and is not . or ..',
})

/** Whether this is a conversation id; the schema says what is wrong with one that is not. */
export const isConversationId = (id: unknown): boolean => typeof id === 'string' && idPattern.test(id)

/** The stream of a conversation or worker, by its id; and the id by the stream, undefined for any other stream. */
const streams = (prefix: string) =>
  [
    (id: string): string => prefix + id,
    (stream: string): string | undefined =>
      stream.startsWith(prefix) ? stream.slice(prefix.length) : undefined,
  ] as const

export const [streamOf, conversationOf] = streams('conversation-')
/** Its notes and links. */
export const [notesStreamOf, notedIn] = streams('notes-')
/** What its turns did: which tools were started, which calls wait, who decided. */
export const [turnsStreamOf, turnedIn] = streams('turns-')
/** What the user says while the model is busy, until it is in the conversation. */
export const [inboxStreamOf, queuedIn] = streams('inbox-')
/** In it, a worker says that it lives. */
export const [workerStreamOf, workerOf] = streams('worker-')

// Event ids derive from it: fixed for ever. What only reads, as a page does, is built without it.
const namespace = /* @__PURE__ */ Buffer.from('7d1b6a0e6c3d5c0f9d6f0b6c0a4c2e51', 'hex')
/** For the bytes of the namespace. */
const room = ' '.repeat(16)

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
