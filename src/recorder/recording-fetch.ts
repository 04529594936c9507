import { createCollector, mostReply } from './collector.ts'
import { apiAt, type ModelExchange, withoutOtherHeaders } from './exchange.ts'
import { checkedOptions } from '../store/given.ts'
import { kinds } from '../store/options.ts'
import {
  createRecordQueue,
  listenerKinds,
  type RecordListeners,
  type RecordQueue,
  type RecordTarget,
} from './record-queue.ts'
import { watchedStream } from './watch-stream.ts'

export interface RecordingFetchOptions extends RecordListeners {
  /** The function that sends requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** A `fetch` that records calls of models. */
export interface RecordingFetch {
  (...request: Parameters<typeof globalThis.fetch>): Promise<Response>
  /** Waits until every call whose reply has ended is recorded. */
  readonly settled: () => Promise<void>
}

/**
 * Wraps a `fetch` for an SDK of Anthropic or OpenAI, or the AI SDK: calls of the Messages API, Chat Completions and the Responses API
 * are recorded in the store, beside the caller. Requests, replies and errors are those of the wrapped function; a reply that is streamed
 * reaches the caller piece by piece. A call that cannot be recorded is reported to `onGap` and changes nothing else.
 *
 * @example
 * import { recordingFetch } from 'palimpsest/recorder'
 *
 * const recorded = recordingFetch(store)
 * await recorded.settled()
 */
export const recordingFetch = (store: RecordTarget, options?: RecordingFetchOptions): RecordingFetch => {
  const fields = { fetch: kinds.call, ...listenerKinds }
  const { fetch: send = globalThis.fetch, ...listeners } = checkedOptions(options, fields)
  const queue = createRecordQueue(store, listeners)
  const recording = async (...[input, init]: Parameters<typeof globalThis.fetch>): Promise<Response> => {
    const { pathname, isCall } = callAt(input, init)
    if (!isCall) return send(input, init)
    const begun = new Date()
    const request = input instanceof Request ? input : undefined
    // Read before the request is sent, because its body can be read only once.
    const body = bytesOf(init?.body ?? request?.clone())
    const headers = withoutOtherHeaders(new Headers(init?.headers ?? request?.headers).entries())
    const end = (reply: ModelExchange['reply']): void => {
      void addTo(queue, body, { path: pathname, headers, begun, ended: new Date(), reply })
    }
    try {
      const response = await send(input, init)
      return copied(response, end)
    } catch (error) {
      end({ status: 0, headers: {}, body: new Uint8Array(), isWhole: false })
      throw error
    }
  }
  return Object.assign(recording, { settled: () => queue.settled() })
}

const addTo = async (
  queue: RecordQueue,
  body: Promise<Uint8Array | undefined>,
  exchange: Omit<ModelExchange, 'body'>,
): Promise<void> => {
  const bytes = await body
  if (bytes) void queue.add({ ...exchange, body: bytes })
  else queue.miss('the body of the request is a stream')
}

const callAt = (
  ...[input, init]: Parameters<typeof globalThis.fetch>
): { readonly pathname: string; readonly isCall: boolean } => {
  const request = input instanceof Request ? input : undefined
  const url = input instanceof URL ? input.href : typeof input === 'string' ? input : input.url
  const { pathname } = URL.canParse(url) ? new URL(url) : { pathname: '' }
  const method = (init?.method ?? request?.method ?? 'GET').toUpperCase()
  return { pathname, isCall: method === 'POST' && apiAt(pathname) !== undefined }
}

/** Returns the bytes of a body; undefined for a stream, which only its receiver can read. */
const bytesOf = async (body: RequestInit['body'] | Request | undefined): Promise<Uint8Array | undefined> => {
  try {
    if (body === undefined || body === null) return new Uint8Array()
    if (typeof body === 'string') return new TextEncoder().encode(body)
    if (body instanceof ReadableStream || Symbol.asyncIterator in Object(body)) return undefined
    if (body instanceof Request) return await body.bytes()
    return await new Response(body as ConstructorParameters<typeof Response>[0]).bytes()
  } catch {
    return undefined
  }
}

/** Returns the response with a body that is also kept for the recorder as it is read. */
const copied = (response: Response, end: (reply: ModelExchange['reply']) => void): Response => {
  const { status, body } = response
  // `fetch` has decompressed the body already.
  const { 'content-encoding': _, ...headers } = withoutOtherHeaders(response.headers.entries())
  if (!body) {
    end({ status, headers, body: new Uint8Array(), isWhole: true })
    return response
  }
  const kept = createCollector(mostReply)
  const stream = watchedStream<Uint8Array>(body, {
    onPart: (piece) => {
      // The caller may change the piece that it gets.
      kept.add(piece.slice())
      return true
    },
    onEnd: (isWhole) => {
      const bytes = kept.bytes()
      end({ status, headers, body: bytes ?? new Uint8Array(), isWhole: isWhole && bytes !== undefined })
    },
  })
  const { statusText } = response
  const copy = new Response(stream, { status, statusText, headers: response.headers })
  for (const name of ['url', 'redirected', 'type'] as const)
    Object.defineProperty(copy, name, { value: response[name] })
  return copy
}
