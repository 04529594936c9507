import { errorOf } from './errors.ts'
import { type SseRequest, isPassing, type Transport, wait } from './transport.ts'

/** A message of an event stream (HTML living standard, section 9.2). */
export interface ParsedSseMessage {
  readonly id: string | undefined
  readonly event: string
  /** The JSON that it has; undefined if it only has an id. */
  readonly data: unknown
}

/** The messages of a stream as they come, until it ends. */
async function* messagesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ParsedSseMessage, void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += value
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const message = messageIn(text.slice(0, end))
        text = text.slice(end + 2)
        if (message) yield message
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

const messageIn = (block: string): ParsedSseMessage | undefined => {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')] as const
    }),
  )
  const [id, event = 'message', data] = [fields.get('id'), fields.get('event'), fields.get('data')]
  if (id === undefined && data === undefined) return undefined
  return { id, event, data: data === undefined ? undefined : (JSON.parse(data) as unknown) }
}

/**
 * The messages of a stream, asked for again after the last id whenever the connection breaks, until the signal aborts. What the server
 * refuses is thrown; so is a server that cannot be reached, after as many tries as for any request.
 */
export async function* resumed(
  { open, url, retries }: Transport,
  asking: Omit<SseRequest, 'lastId'>,
): AsyncGenerator<ParsedSseMessage, void> {
  const { signal } = asking
  let lastId: string | undefined
  for (let tries = 0; !signal?.aborted; tries++) {
    try {
      const { body } = await open({ ...asking, lastId })
      if (body)
        for await (const message of messagesIn(body)) {
          if (message.event === 'problem') throw errorOf(message.data, url, 500)
          lastId = message.id ?? lastId
          tries = 0
          yield message
        }
    } catch (error) {
      if (signal?.aborted) return
      const isBroken = error instanceof TypeError || isPassing(error)
      if (!isBroken || tries >= retries) throw error
    }
    await wait(tries, signal)
  }
}
