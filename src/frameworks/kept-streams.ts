import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Conversation } from '../api/promises.ts'
import { invalidInput } from '../events/errors.ts'
import { isFields } from '../events/json.ts'
import type { Note } from '../projections/notes.ts'
import { toError } from '../result/typed-error.ts'

// The stream of a reply is kept in notes of its conversation, so that any process that has the store can send it again.

/** Kind of the notes that begin and end a stream. */
const streamKind = 'ai-sdk/stream'
/** Kind of the notes with its events, or with none as a sign of life. */
const eventsKind = 'ai-sdk/stream-events'

/** Data of a note. */
interface StreamNote {
  readonly stream: string
  /** Server-sent events: their text, or, if that is shorter, its raw DEFLATE in base64. */
  readonly text?: string
  readonly deflated?: string
  readonly isEnd?: true
}

/** Time for which events are collected before they are written together, in milliseconds. */
const collecting = 200
/** Time between two looks for more events, in milliseconds. */
const looking = 100
/** Size from which a batch is written, and maximum size of a stream, in characters. */
const largeBatch = 64 * 1024
const mostKept = 64 * 1024 * 1024
/** Maximum number of notes read at once. */
const page = 100

/**
 * Keeps a stream of server-sent events beside a conversation, which must exist, until the stream ends. At most one batch of events is in
 * memory. A stream that fails ends with an error event.
 *
 * @param silence time in milliseconds without a note after which readers take the writer for dead
 */
export const writeStream = async (
  chat: Conversation,
  source: ReadableStream<string>,
  silence: number,
): Promise<void> => {
  const reader = source.getReader()
  const stream = randomUUID()
  const read = (): ReturnType<typeof reader.read> => {
    const reading = reader.read()
    // It is awaited below, unless writing fails first.
    reading.catch(() => undefined)
    return reading
  }
  try {
    await chat.note({ kind: streamKind, data: { stream } satisfies StreamNote })
    let next = read()
    let length = 0
    for (let isOpen = true; isOpen;) {
      let text = ''
      try {
        let found = await within(next, silence / 3)
        const collected = setTimeout(collecting, undefined, { ref: false })
        while (found && !found.done && text.length < largeBatch) {
          text += found.value
          next = read()
          found = await Promise.race([next, collected])
        }
        isOpen = found?.done !== true
      } catch (error) {
        text += eventText({ type: 'error', errorText: `The reply failed: ${messageIn(error)}` })
        isOpen = false
      }
      length += text.length
      if (length > mostKept)
        throw toError(invalidInput('stream', `is longer than ${mostKept} characters: it is not kept further`))
      const data: StreamNote = { stream, ...packed(text), ...(!isOpen && { isEnd: true }) }
      await chat.note({ kind: isOpen ? eventsKind : streamKind, data })
    }
  } catch (error) {
    // If the stream was split, as by `consumeSseStream`, this resolves only when the other reader leaves, too.
    reader.cancel(error).catch(() => undefined)
    throw error
  }
}

/** Returns the note that began the newest stream of a conversation; undefined if that stream has ended. */
export const openStream = async (chat: Conversation, id: string): Promise<Note | undefined> => {
  // A fork has the notes of its parent, but not the parent's replies. Streams may overlap: then the older one can end last.
  const notes = (await chat.notes({ kind: streamKind, last: 8 })).filter(
    (note) => note.conversation === id && streamIn(note) !== undefined,
  )
  const begun = notes.findLast((note) => streamIn(note)?.isEnd !== true)
  const name = begun && streamIn(begun)?.stream
  const isOver = notes.map(streamIn).some((data) => data?.isEnd === true && data.stream === name)
  return isOver ? undefined : begun
}

/**
 * Returns the events of a stream from its beginning, and then those that come, until it ends. If its writer gives no sign of life for
 * `silence` milliseconds, the stream ends with an error event.
 */
export const readStream = (chat: Conversation, begun: Note, silence: number): ReadableStream<Uint8Array> => {
  const left = new AbortController()
  const texts = textsOf(chat, begun, silence, left.signal)
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const { done, value } = await texts.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      cancel: () => left.abort(),
    },
    { highWaterMark: 0 },
  )
}

async function* textsOf(
  chat: Conversation,
  begun: Note,
  silence: number,
  left: AbortSignal,
): AsyncGenerator<string, void> {
  const name = streamIn(begun)?.stream
  let from = begun.revision + 1
  let alive = Date.parse(begun.metadata.time)
  while (!left.aborted) {
    const notes = await chat.notes({ from, limit: page })
    for (const note of notes) {
      from = note.revision + 1
      const data = streamIn(note)
      if (!data || data.stream !== name) continue
      alive = Date.parse(note.metadata.time)
      const text = textOf(data)
      if (text !== '') yield text
      if (data.isEnd) return
      // A comment keeps proxies from closing a silent connection.
      if (text === '') yield ': the reply continues\n\n'
    }
    if (notes.length > 0) continue
    if (Date.now() - alive > silence) {
      yield eventText({
        type: 'error',
        errorText: 'The reply was interrupted: its process has ended. Send the message again.',
      })
      yield 'data: [DONE]\n\n'
      return
    }
    await setTimeout(looking, undefined, { signal: left }).catch(() => undefined)
  }
}

const streamIn = ({ kind, data }: Note): StreamNote | undefined =>
  (kind === streamKind || kind === eventsKind) && isFields(data) && typeof data['stream'] === 'string'
    ? (data as unknown as StreamNote)
    : undefined

const packed = (text: string): Pick<StreamNote, 'text' | 'deflated'> => {
  const deflated = deflateRawSync(text).toString('base64')
  return deflated.length < text.length ? { deflated } : { text }
}

const textOf = ({ text = '', deflated }: StreamNote): string =>
  deflated === undefined ? text : inflateRawSync(Buffer.from(deflated, 'base64')).toString()

const eventText = (event: object): string => `data: ${JSON.stringify(event)}\n\n`

const messageIn = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Waits for a promise, but not longer than a time in milliseconds; then returns undefined. */
const within = async <A>(promise: Promise<A>, time: number): Promise<A | undefined> => {
  const over = new AbortController()
  try {
    return await Promise.race([promise, setTimeout(time, undefined, { ref: false, signal: over.signal })])
  } finally {
    over.abort()
  }
}
