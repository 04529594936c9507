// Calls of the AI SDK (`ai`) as conversations of a store. docs/frameworks.md.

import type { LanguageModelV4, LanguageModelV4Middleware, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { isFields } from '../events/json.ts'
import { mostReply } from '../recorder/collector.ts'
import type { ExchangeReply } from '../recorder/exchange.ts'
import {
  createRecordQueue,
  listenerKinds,
  type RecordListeners,
  type RecordTarget,
} from '../recorder/record-queue.ts'
import { checkedOptions } from '../store/given.ts'
import { watchedStream } from '../recorder/watch-stream.ts'

export { chatStore, type ChatStore, type ChatStoreOptions } from './chat-store.ts'

/** A middleware that records the calls of a model. */
export interface RecordingMiddleware extends LanguageModelV4Middleware {
  /** Waits until every call that has ended is recorded. */
  readonly settled: () => Promise<void>
}

/**
 * Creates a middleware of the AI SDK that records each call of a model in the store, as `recordingFetch` does. It is for programs that
 * are given a model; where a provider is created, pass it `fetch: recordingFetch(store)`, which sees the very bytes. Models whose
 * provider has the Messages API, Chat Completions or the Responses API are recorded; of others, `onGap` is told. What the program gets
 * is unchanged.
 *
 * @example
 * import { wrapLanguageModel } from 'ai'
 * import { aiSdkMiddleware } from 'palimpsest/ai-sdk'
 *
 * const model = wrapLanguageModel({ model: languageModel, middleware: aiSdkMiddleware(store) })
 */
export const aiSdkMiddleware = (store: RecordTarget, listeners?: RecordListeners): RecordingMiddleware => {
  const queue = createRecordQueue(store, checkedOptions(listeners, listenerKinds))
  const add = (model: LanguageModelV4, body: unknown, begun: Date, reply: ExchangeReply): void => {
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? null)
    const path = pathOf(model, text)
    if (path === undefined) queue.miss(`requests of ${model.provider} are not recorded`)
    else void queue.add({ path, headers: {}, body: bytesOf(text), begun, ended: new Date(), reply })
  }
  const addFailed = (model: LanguageModelV4, begun: Date, error: unknown): void => {
    const { requestBodyValues: body, statusCode: status } = isError(error) ? error : {}
    if (body !== undefined)
      add(model, body, begun, { ...noReply, status: typeof status === 'number' ? status : 0 })
  }
  return {
    specificationVersion: 'v4',
    wrapGenerate: async ({ doGenerate, model }) => {
      const begun = new Date()
      try {
        const result = await doGenerate()
        const { request, response } = result
        const isWhole = response?.body !== undefined
        const reply = bytesOf(JSON.stringify(response?.body ?? null))
        add(model, request?.body, begun, { status: 200, headers: json, body: reply, isWhole })
        return result
      } catch (error) {
        addFailed(model, begun, error)
        throw error
      }
    },
    wrapStream: async ({ params, model }) => {
      const begun = new Date()
      try {
        const result = await model.doStream({ ...params, includeRawChunks: true })
        const stream = copied(result.stream, params.includeRawChunks === true, (events, isWhole) =>
          add(model, streamed(result.request?.body), begun, {
            status: 200,
            headers: eventStream,
            body: bytesOf(events),
            isWhole,
          }),
        )
        return { ...result, stream }
      } catch (error) {
        addFailed(model, begun, error)
        throw error
      }
    },
    settled: queue.settled,
  }
}

const json = { 'content-type': 'application/json' }
const eventStream = { 'content-type': 'text/event-stream' }
const noReply: ExchangeReply = { status: 0, headers: {}, body: new Uint8Array(), isWhole: false }
const encoder = new TextEncoder()
const bytesOf = (text: string): Uint8Array => encoder.encode(text)

/** Returns the body of a streamed request: what some providers say that they have sent lacks this field. */
const streamed = (body: unknown): unknown => (isFields(body) ? { ...body, stream: true } : body)

/** Returns the path of the API to which a provider sends such a body; undefined for any other API. */
const pathOf = ({ provider }: LanguageModelV4, text: string): string | undefined => {
  const body: unknown = JSON.parse(text)
  if (!isFields(body)) return undefined
  if ('input' in body) return '/v1/responses'
  if (!('messages' in body)) return undefined
  return provider.includes('anthropic') ? '/v1/messages' : '/v1/chat/completions'
}

const isError = (
  error: unknown,
): error is { readonly requestBodyValues?: unknown; readonly statusCode?: unknown } =>
  typeof error === 'object' && error !== null

/** Returns a stream with the same parts; its raw ones, which are the events of the provider, are also kept for the recorder. */
const copied = (
  stream: ReadableStream<LanguageModelV4StreamPart>,
  isRawWanted: boolean,
  end: (events: string, isWhole: boolean) => void,
): ReadableStream<LanguageModelV4StreamPart> => {
  let events: string[] = []
  let length = 0
  const keep = (raw: unknown): void => {
    const type = isFields(raw) && typeof raw['type'] === 'string' ? `event: ${raw['type']}\n` : ''
    const event = `${type}data: ${JSON.stringify(raw)}\n\n`
    length += event.length
    if (length <= mostReply) events.push(event)
    else events = []
  }
  return watchedStream(stream, {
    onPart: (part) => {
      if (part.type !== 'raw') return true
      keep(part.rawValue)
      return isRawWanted
    },
    onEnd: (isWhole) => end(events.join(''), isWhole && length <= mostReply),
  })
}
