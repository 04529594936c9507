import { hash, randomUUID } from 'node:crypto'
import { z } from 'zod'

// `.` and `..` are no names in an address, however they are escaped.
const idPattern = /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,200}$/

/** Schema of a conversation id: 1–200 characters of `A–Z a–z 0–9 . _ : -`; not `.` or `..`. */
export const conversationIdSchema = z.string().regex(idPattern, {
  error: 'a conversation id has 1 to 200 characters of A–Z a–z 0–9 . _ : -, and is not . or ..',
})

/** Reports whether this is a conversation id; for an invalid one, the schema says what is wrong. */
export const isConversationId = (id: unknown): boolean => typeof id === 'string' && idPattern.test(id)

/**
 * Returns two functions: from the id of a conversation or worker to its stream, and from the stream to the id, undefined for any other
 * stream.
 */
const streams = (prefix: string) =>
  [
    (id: string): string => prefix + id,
    (stream: string): string | undefined =>
      stream.startsWith(prefix) ? stream.slice(prefix.length) : undefined,
  ] as const

export const [streamOf, conversationOf] = streams('conversation-')
/** Stream of a conversation's notes and links. */
export const [notesStreamOf, notedIn] = streams('notes-')
/** Stream of what a conversation's turns did: tools started, calls waiting, decisions. */
export const [turnsStreamOf, turnedIn] = streams('turns-')
/** Stream of user messages said while the model is busy, until they are in the conversation. */
export const [inboxStreamOf, queuedIn] = streams('inbox-')
/** Stream in which a worker reports that it is alive. */
export const [workerStreamOf, workerOf] = streams('worker-')

// Event ids derive from it: fixed for ever. What only reads, as a page does, is built without it.
const namespace = /* @__PURE__ */ Buffer.from('7d1b6a0e6c3d5c0f9d6f0b6c0a4c2e51', 'hex')
/** Space for the bytes of the namespace. */
const room = ' '.repeat(16)

/**
 * Returns the id of the `index`-th event that a command writes to a stream: UUIDv5 (RFC 9562, section 5.5) of the three. A repeated
 * command has the same ids, by which a store recognises it.
 */
export const eventId = (stream: string, commandId: string, index: number): string => {
  const name = Buffer.from(`${room}${stream}\n${commandId}\n${index}`)
  name.set(namespace)
  const hex = hash('sha1', name)
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Returns a command id for a caller that gives none. */
export const newCommandId = (): string => randomUUID()
