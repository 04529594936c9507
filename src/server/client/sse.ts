/** A message of an event stream (HTML living standard, section 9.2). */
export interface ParsedSseMessage {
  readonly id: string | undefined
  readonly event: string
  /** The parsed JSON data; undefined if the message only has an id. */
  readonly data: unknown
}

/**
 * Makes a parser for an event stream. The parser takes the stream in arbitrary pieces and returns the messages that each piece
 * completes.
 */
export const sseReader = () => {
  let rest = ''
  return (piece: string): readonly ParsedSseMessage[] => {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => messageIn(block) ?? [])
  }
}

const messageIn = (block: string): ParsedSseMessage | undefined => {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const [, name, value] = /^(\w+): ?(.*)$/s.exec(line) ?? []
    if (name === undefined || value === undefined) continue
    const before = name === 'data' ? fields.get(name) : undefined
    fields.set(name, before === undefined ? value : `${before}\n${value}`)
  }
  const [id, event = 'message', data] = [fields.get('id'), fields.get('event'), fields.get('data')]
  if (id === undefined && data === undefined) return undefined
  return { id, event, data: data === undefined ? undefined : (JSON.parse(data) as unknown) }
}

/**
 * Yields the messages of an event stream as they arrive, until the stream ends.
 *
 * @param heard called for every piece received, even if no message is complete
 */
export async function* messagesIn(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  heard?: () => void,
): AsyncGenerator<ParsedSseMessage, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  const take = sseReader()
  try {
    for (let got = await reader.read(); !got.done; got = await reader.read()) {
      heard?.()
      yield* take(got.value)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Number of milliseconds without data after which a stream counts as broken. A working stream sends something every 15 seconds. */
const silence = 40_000

/** An event stream that is requested again when its connection breaks. */
export interface ResumableStream {
  /** Requests the stream after the message with this id or, if undefined, from the position that the request specifies. */
  readonly open: (lastId: string | undefined, signal: AbortSignal) => Promise<Response>
  /** Converts the data of a message `problem`, with which a server ends a stream, to an error. */
  readonly errorOf: (problem: unknown) => Error
  /**
   * Waits before the next request. Called with the error if the stream broke, and with undefined if it just ended. Throws to end the
   * stream.
   */
  readonly again: (error: unknown) => Promise<void>
  readonly signal?: AbortSignal | undefined
}

/**
 * Yields the messages of an event stream until the signal aborts. After a broken connection, or if nothing was received for too long,
 * the stream is requested again from the last message id.
 *
 * @param after id of the message after which to begin
 * @param most milliseconds without data after which the connection counts as broken
 */
export async function* messagesAfter(
  { open, errorOf, again, signal }: ResumableStream,
  after?: string,
  most = silence,
): AsyncGenerator<ParsedSseMessage, void> {
  let lastId = after
  while (!signal?.aborted) {
    const silent = new AbortController()
    let watch: ReturnType<typeof setTimeout> | undefined
    const heard = (): void => {
      clearTimeout(watch)
      watch = setTimeout(() => silent.abort(), most)
    }
    let error: unknown
    try {
      heard()
      const { body } = await open(lastId, AbortSignal.any([...(signal ? [signal] : []), silent.signal]))
      for await (const message of body ? messagesIn(body, heard) : []) {
        if (message.event === 'problem') throw errorOf(message.data)
        lastId = message.id ?? lastId
        // A slow consumer does not mean a broken connection.
        clearTimeout(watch)
        yield message
        heard()
      }
    } catch (caught) {
      error = silent.signal.aborted ? new TypeError('the stream sent nothing for too long') : caught
    } finally {
      clearTimeout(watch)
    }
    if (!signal?.aborted) await again(error)
  }
}
