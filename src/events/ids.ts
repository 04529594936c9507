import { hash, randomFillSync, randomUUID } from 'node:crypto'
import { z } from 'zod'

// `.` and `..` cannot be segments of a URL path, even if they are escaped.
const idPattern = /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,200}$/

/** Schema of a conversation id: 1–200 characters of `A–Z a–z 0–9 . _ : -`; not `.` or `..`. */
export const conversationIdSchema = z.string().regex(idPattern, {
  error: 'a conversation id has 1 to 200 characters of A–Z a–z 0–9 . _ : -, and is not . or ..',
})

/** Reports whether a value is a conversation id. For an invalid id, the schema describes the fault. */
export const isConversationId = (id: unknown): boolean => typeof id === 'string' && idPattern.test(id)

/** Rule for a worker's name: the worker's id, which consists of the name and a UUID, is part of a stream name. */
export const nameRule = 'must have 1 to 163 characters from A–Z a–z 0–9 . _ : -'

/**
 * Returns two functions. The first converts the id of a conversation or worker to the name of its stream; the second converts a stream
 * name to the id, or returns undefined for any other stream.
 */
const streams = (prefix: string) =>
  [
    (id: string): string => prefix + id,
    (stream: string): string | undefined =>
      stream.startsWith(prefix) ? stream.slice(prefix.length) : undefined,
  ] as const

export const [streamOf, conversationOf] = streams('conversation-')
/** Conversions between a conversation id and the stream of the conversation's notes and links. */
export const [notesStreamOf, notedIn] = streams('notes-')
/** Conversions between a conversation id and the stream of the conversation's turns: tools started, calls waiting, decisions. */
export const [turnsStreamOf, turnedIn] = streams('turns-')
/**
 * Conversions between a conversation id and the stream of its inbox: user messages sent while the model is busy, until they are in the
 * conversation.
 */
export const [inboxStreamOf, queuedIn] = streams('inbox-')
/** Conversions between a conversation id and the stream with the file of another program from which the conversation was imported. */
export const [archiveStreamOf, archivedIn] = streams('archive-')
/** Names of the streams of a conversation that have content, from its id. Its own comes first: what is erased there decides the rest. */
export const contentStreams = {
  events: streamOf,
  notes: notesStreamOf,
  turns: turnsStreamOf,
  inbox: inboxStreamOf,
  archive: archiveStreamOf,
} as const
/** Kind of a stream that has content, as `Erased` events name it. */
export type ContentKind = keyof typeof contentStreams
export const contentKinds = /* @__PURE__ */ Object.keys(contentStreams) as readonly ContentKind[]

/** Conversions between a worker id and the stream in which the worker reports that it is alive. */
export const [workerStreamOf, workerOf] = streams('worker-')
/** Stream of the rules about how long content is kept, and stream of the runs that apply them. */
export const retentionStream = 'retention'
export const retentionRunsStream = 'retention-runs'

// Event ids are derived from the namespace, so it must never change. Code that only reads, such as a page, is built without it.
const namespace = /* @__PURE__ */ Buffer.from('7d1b6a0e6c3d5c0f9d6f0b6c0a4c2e51', 'hex')
/** Placeholder for the 16 bytes of the namespace. */
const room = ' '.repeat(16)

/**
 * Returns the id of the `index`-th event that a command writes to a stream: a UUIDv5 (RFC 9562, section 5.5) of stream, command id and
 * index. A repeated command yields the same ids, so that a store recognises the repetition.
 */
export const eventId = (stream: string, commandId: string, index: number): string => {
  const name = Buffer.from(`${room}${stream}\n${commandId}\n${index}`)
  name.set(namespace)
  const hex = hash('sha1', name)
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) % 4)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Creates a random command id, for callers that do not give one. */
export const newCommandId = (): string => randomUUID()

const saltBytes = 16
const poolBytes = 256 * saltBytes
// Asking the system for the bytes of one salt takes ten times as long as cutting them from a pool.
const salts = /* @__PURE__ */ Buffer.alloc(poolBytes)
let used = poolBytes

/** Creates the salt of an event: 16 random bytes in base64url. */
export const newSalt = (): string => {
  if (used === poolBytes) {
    randomFillSync(salts)
    used = 0
  }
  used += saltBytes
  return salts.toString('base64url', used - saltBytes, used)
}
