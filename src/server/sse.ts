import { isTyped } from '../result/typed-error.ts'
import { breath } from '../store/breath.ts'
import type { HeaderFields } from './request-input.ts'
import { problemOf, requestError } from './problem.ts'

/** A message of an event stream (HTML living standard, section 9.2). */
export interface SseMessage {
  /** Id with which a client continues the stream after this message. */
  readonly id?: string
  readonly event?: string
  /** Any JSON value. In a message without data, the client only records the id. */
  readonly data?: unknown
  /** Text of the data as JSON, instead of `data`. */
  readonly json?: string
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

const textOf = ({
  id,
  event,
  data,
  json = data === undefined ? undefined : JSON.stringify(data),
}: SseMessage): string =>
  [
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(json === undefined ? [] : [`data: ${json}`]),
    '\n',
  ].join('\n')

/** Streams that wait to read their next message. */
const waiting: (() => void)[] = []
const resumeOne = (): void => {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(resumeOne)
}
/**
 * Returns undefined while there is time to read a message; otherwise a promise. Streams that wait continue one by one, one in a turn of
 * the event loop: if all continued in the same turn, other requests would wait for hundreds of them.
 */
const turn = (): Promise<void> | undefined => {
  if (waiting.length === 0 && breath() === undefined) return undefined
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(resumeOne)
  })
}

/** Waits for a promise for at most `ms` milliseconds; then resolves to undefined. */
const within = <A>(ms: number, promise: Promise<A>): Promise<A | undefined> =>
  new Promise((resolve, reject) => {
    const silent = setTimeout(resolve, ms, undefined).unref()
    promise.then(resolve, reject).finally(() => clearTimeout(silent))
  })

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
      const got = await within(every, next)
      if (signal.aborted || got?.done) return
      if (got === undefined) {
        yield ':\n\n'
        continue
      }
      yield textOf(got.value)
      // Not awaited if there is time, so that the next stream sees how much of it this one needs.
      const pause = turn()
      if (pause) await pause
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
