import { errorOf } from './errors.ts'
import { messagesIn, type ParsedSseMessage } from './sse.ts'
import { type SseRequest, isPassing, type Transport, wait } from './transport.ts'

/**
 * Yields the messages of an event stream until the signal aborts. After a broken connection, the stream is requested again from the
 * last message id. Throws errors that the server returns, and an error if the server cannot be reached within the configured number of
 * retries.
 */
export async function* resumeStream(
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
