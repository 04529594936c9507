import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasLoneSurrogate, parseOrUndefined } from '../messages-api/incoming-request.ts'
import { type ChatAnswer, createAnswers, errorBody } from './answers.ts'
import type { ChatRequest, ChatFailure, JsonFields } from './body.ts'
import { chunksOf, done, encodeChunk } from './chunks.ts'
import { chatFailures } from './failures.ts'
import type { ChatCompletionsOptions } from './options.ts'
import type { ChatFault, Completion } from './replies.ts'

export type { ChatCompletionsOptions } from './options.ts'

/** A received request with its answer. */
export interface ChatExchange {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Parsed request body; undefined if it is not JSON. */
  readonly body: ChatRequest | undefined
  /** HTTP status of the answer, even if sending it failed. */
  readonly status: number
  /** Complete answer, even if it was streamed: a completion or an error. */
  readonly answer: Completion | JsonFields
  /** Reports whether the answer was sent completely. */
  readonly isComplete: () => boolean
}

export interface ChatCompletions {
  /** Value for the SDK's `baseURL`: `http://127.0.0.1:PORT/v1`. */
  readonly url: string
  /** Received requests, in the order in which they were answered. */
  readonly requests: readonly ChatExchange[]
  readonly forgetRequests: () => void
  /** Closes the server and terminates open connections. */
  readonly close: () => Promise<void>
}

const host = '127.0.0.1'

/**
 * Starts a Chat Completions API on the loopback interface. It rejects the same requests as the real API, with the same types, codes and
 * parameters: calls without results, results without calls, invalid names and ids, unknown parameters, and prompts that are too long.
 *
 * @example
 * import OpenAI from 'openai'
 * import { chatCompletions } from 'palimpsest/testing'
 *
 * const api = await chatCompletions({ reply: () => ({ content: 'Hello!' }) })
 * const client = new OpenAI({ baseURL: api.url, apiKey: 'any' })
 * await client.chat.completions.create({ model: 'gpt-5.2', messages: [{ role: 'user', content: 'Hi.' }] })
 * console.assert(api.requests[0]?.status === 200)
 * await api.close()
 */
export const chatCompletions = async (options: ChatCompletionsOptions = {}): Promise<ChatCompletions> => {
  const answerTo = createAnswers(options)
  const requests: ChatExchange[] = []
  let received = 0

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('x-request-id', `req_c${String(++received).padStart(23, '0')}`)
    const { path, body, failure } = await incomingOf(message, options.apiKey)
    const { headers } = message
    const record = (status: number, answer: ChatExchange['answer'], isWhole = true): void => {
      const isComplete = (): boolean => isWhole && response.writableFinished
      requests.push({ path, headers, body: body as ChatRequest | undefined, status, answer, isComplete })
    }
    const answer: ChatAnswer = failure ? { failure } : await answerTo(body)
    if ('failure' in answer) {
      const { status, retryAfter } = answer.failure
      const error = errorBody(answer.failure)
      record(status, error)
      if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
      sendJson(response, status, answer.model?.errorBody?.(error['error'] as JsonFields) ?? error)
    } else {
      record(200, answer.completion, answer.reply.fault === undefined)
      const isStream = answer.body.stream === true && !answer.model.ignoresStream
      await (isStream ? stream(response, answer) : send(response, answer))
    }
  }

  const server = createServer((message, response) => {
    handle(message, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else sendJson(response, 500, errorBody({ ...chatFailures.broken, message: String(error) }))
    })
  })
  // Otherwise a busy client may send its next request on a connection that is being closed, and fail.
  server.keepAliveTimeout = 0
  server.listen(0, host)
  await once(server, 'listening')
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}/v1`,
    requests,
    forgetRequests: () => void requests.splice(0),
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

interface Incoming {
  readonly path: string
  readonly body: unknown
  readonly failure: ChatFailure | undefined
}

const incomingOf = async (message: IncomingMessage, apiKey: string | undefined): Promise<Incoming> => {
  const { headers, method, url = '/' } = message
  const path = new URL(url, 'http://localhost').pathname
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const body = parseOrUndefined(text)
  const key = headers.authorization?.replace(/^Bearer /, '')
  const isKey = key !== undefined && (apiKey === undefined || key === apiKey)
  const unreadable = { status: 400, type: 'invalid_request_error', message: 'The body is not valid JSON.' }
  const failure =
    method !== 'POST' || path !== '/v1/chat/completions'
      ? chatFailures.notFound
      : !isKey
        ? chatFailures.unauthorized
        : body === undefined || hasLoneSurrogate(text, body)
          ? unreadable
          : undefined
  return { path, body, failure }
}

const sendJson = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

type Completed = Extract<ChatAnswer, { readonly completion: Completion }>

/** Closes the connection without ending the response. */
const drop = (response: ServerResponse): void => void response.socket?.destroy()

const write = (response: ServerResponse, text: string): Promise<void> =>
  new Promise((resolve) => {
    response.write(text, () => resolve())
  })

/** Sends an answer without streaming, or simulates the fault that the answer specifies. */
const send = async (response: ServerResponse, { completion, reply }: Completed): Promise<void> => {
  const { fault, delay = 0 } = reply
  if (delay > 0) await sleep(delay)
  if (fault?.kind === 'stall') return
  if (fault) drop(response)
  else sendJson(response, 200, completion)
}

/** Returns the number of chunks sent before a fault. For `end`, the default is 1 chunk, for other faults 0. */
const before = (fault: ChatFault | undefined): number | undefined =>
  fault && (fault.after ?? (fault.kind === 'end' ? 1 : 0))

/** Streams an answer in chunks until it is complete or its fault occurs. */
const stream = async (
  response: ServerResponse,
  { completion, reply, model, body }: Completed,
): Promise<void> => {
  const { fault, delay = 0 } = reply
  const chunks = chunksOf(
    completion,
    model,
    body.stream_options?.include_usage === true && !model.countsNothing,
  )
  if (fault?.after === undefined && fault?.kind === 'stall') return
  if (fault?.after === undefined && fault?.kind === 'drop') return drop(response)
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  const sent = chunks.slice(0, before(fault)).map(encodeChunk)
  for (const text of delay === 0 ? [sent.join('')] : sent) {
    if (delay > 0) await sleep(delay)
    if (response.destroyed) return
    await write(response, text)
  }
  if (fault?.kind === 'stall') return
  if (fault?.kind === 'drop') return drop(response)
  if (fault?.kind === 'error') await write(response, encodeChunk(errorBody(chatFailures.overloaded)))
  response.end(fault ? '' : done)
}
