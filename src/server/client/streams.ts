import { errorOf, unavailable } from './errors.ts'
import { messagesAfter, type ParsedSseMessage } from './sse.ts'
import { type SseRequest, isPassing, type Transport, wait } from './transport.ts'

/**
 * Yields the messages of an event stream until the signal aborts, across broken connections. Throws errors that the server returns, and
 * `StoreUnavailable` if the stream breaks more times in a row than the configured number of retries.
 */
export async function* resumeStream(
  { open, url, retries }: Transport,
  asking: Omit<SseRequest, 'lastId'>,
): AsyncGenerator<ParsedSseMessage, void> {
  const { signal } = asking
  let tries = 0
  const again = async (error: unknown): Promise<void> => {
    const isBroken = error instanceof TypeError
    if (error !== undefined && (tries >= retries || !(isBroken || isPassing(error))))
      throw isBroken ? unavailable(url, `the stream from ${url} was interrupted`, error) : error
    await wait(tries++, signal)
  }
  const stream = messagesAfter({
    open: (lastId, untilSilent) => open({ ...asking, lastId, signal: untilSilent }),
    errorOf: (problem) => errorOf(problem, url, 500),
    again,
    signal,
  })
  for await (const message of stream) {
    tries = 0
    yield message
  }
}
