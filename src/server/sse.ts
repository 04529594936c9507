import { setTimeout as sleep } from 'node:timers/promises'
import { isTyped } from '../result/typed-error.ts'
import type { HeaderFields } from './request-input.ts'
import { problemOf, requestError } from './problem.ts'

/** A message of an event stream (HTML living standard, section 9.2). */
export interface SseMessage {
  /** Id with which a client continues the stream after this message. */
  readonly id?: string
  readonly event?: string
  /** Any JSON value. In a message without data, the client only records the id. */
  readonly data?: unknown
}

export const eventsMedia = 'text/event-stream'
/** Reports whether the caller asks for an event stream instead of the JSON form of the response. */
export const acceptsEvents = (headers: HeaderFields): boolean =>
  headers.get('accept')?.includes(eventsMedia) === true

/** Throws `NotAcceptable` if the caller does not accept an event stream. Used for responses that are always event streams. */
export const checkAccepts = (headers: HeaderFields): void => {
  const accepted = headers.get('accept') ?? '*/*'
  if (![eventsMedia, 'text/*', '*/*'].some((media) => accepted.includes(media)))
    throw requestError('NotAcceptable', `this is an event stream: request it with Accept: ${eventsMedia}`)
}

/** Default interval of the heartbeat on an idle stream, in milliseconds. It is shorter than the usual timeouts of proxies. */
export const heartbeat = 15_000
const retry = 'retry: 2000\n\n'

const textOf = ({ id, event, data }: SseMessage): string =>
  [
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(data === undefined ? [] : [`data: ${JSON.stringify(data)}`]),
    '\n',
  ].join('\n')

/**
 * Converts messages to the text of an event stream until the signal aborts. The same signal must end the source. Messages are read only
 * as the client takes them, so nothing is buffered for a slow client. A typed error is sent as the last message, `problem`.
 */
export async function* eventStream(
  told: AsyncIterable<SseMessage>,
  signal: AbortSignal,
  every = heartbeat,
): AsyncGenerator<string, void> {
  const iterator = told[Symbol.asyncIterator]()
  try {
    yield retry
    for (let next = iterator.next(); ;) {
      const beat = new AbortController()
      const silence = sleep(every, undefined, { signal: beat.signal, ref: false }).catch(() => undefined)
      const got = await Promise.race([next, silence])
      beat.abort()
      if (signal.aborted || got?.done) return
      if (got === undefined) {
        yield ':\n\n'
        continue
      }
      yield textOf(got.value)
      next = iterator.next()
    }
  } catch (error) {
    if (!isTyped(error)) throw error
    yield textOf({ event: 'problem', data: problemOf(error) })
  } finally {
    // Not awaited: the source may be waiting for its next message until the signal aborts.
    void iterator.return?.()
  }
}
