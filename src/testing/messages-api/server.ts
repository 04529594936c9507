import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAnswers } from './answers.ts'
import { failures } from './failures.ts'
import { readRequest } from './incoming-request.ts'
import type { MessagesApiOptions } from './options.ts'
import type { ApiMessage } from './replies.ts'
import type { ApiRequest } from './request.ts'
import { errorBody, sendJson, sendMessage, streamMessage } from './send.ts'

export type { MessagesApiOptions } from './options.ts'

/** A received request with its answer. */
export interface ApiExchange {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Parsed request body; undefined if it is not JSON. */
  readonly body: ApiRequest | undefined
  /** HTTP status of the answer, even if sending it failed. */
  readonly status: number
  /** Complete answer, even if it was streamed: a message, a token count, or an error. */
  readonly answer: ApiMessage | { readonly input_tokens: number } | ReturnType<typeof errorBody>
  /** Reports whether the answer was sent completely. */
  readonly isComplete: () => boolean
}

export interface MessagesApi {
  /** Value for the SDK's `baseURL`: `http://127.0.0.1:PORT`. */
  readonly url: string
  /** Received requests, in the order in which they were answered. */
  readonly requests: readonly ApiExchange[]
  readonly forgetRequests: () => void
  /** Closes the server and terminates open connections. */
  readonly close: () => Promise<void>
}

const host = '127.0.0.1'

/**
 * Starts a Messages API on the loopback interface. It rejects the same requests as the real API, with the same messages: invalid
 * histories, thinking that was changed or moved, and prompts that are too long. `reply` provides the models' answers.
 *
 * @example
 * import Anthropic from '@anthropic-ai/sdk'
 * import { messagesApi } from 'palimpsest/testing'
 *
 * const api = await messagesApi({ reply: () => ({ content: [{ type: 'text', text: 'Hello!' }] }) })
 * const client = new Anthropic({ baseURL: api.url, apiKey: 'any' })
 * await client.messages.create({ model: 'claude-opus-5-5', max_tokens: 100, messages: [{ role: 'user', content: 'Hi.' }] })
 * console.assert(api.requests[0]?.status === 200)
 * await api.close()
 */
export const messagesApi = async (options: MessagesApiOptions = {}): Promise<MessagesApi> => {
  const answerTo = createAnswers(options)
  const requests: ApiExchange[] = []
  let received = 0

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = `req_${String(++received).padStart(24, '0')}`
    response.setHeader('request-id', requestId)
    const { path, isCount, body, failure: early } = await readRequest(message, options.apiKey)
    const { headers } = message
    const record = (status: number, answer: ApiExchange['answer'], isWhole = true): void => {
      const isComplete = (): boolean => isWhole && response.writableFinished
      requests.push({ path, headers, body: body as ApiRequest | undefined, status, answer, isComplete })
    }
    const answer = early ? { failure: early, code: undefined } : await answerTo(body, isCount)
    if ('count' in answer) {
      const count = { input_tokens: answer.count }
      record(200, count)
      sendJson(response, 200, count)
    } else if ('failure' in answer) {
      const { failure, code } = answer
      const error = errorBody(failure, requestId, code)
      record(failure.status, error)
      if (failure.retryAfter !== undefined) response.setHeader('retry-after', String(failure.retryAfter))
      sendJson(response, failure.status, error)
    } else {
      const { fault, delay = 0 } = answer.reply
      record(200, answer.message, fault === undefined)
      const send = answer.isStream ? streamMessage : sendMessage
      await send(response, answer.message, { requestId, fault, delay })
    }
  }

  const server = createServer((message, response) => {
    handle(message, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else sendJson(response, 500, errorBody({ ...failures.broken, message: String(error) }, ''))
    })
  })
  // Otherwise a busy client may send its next request on a connection that is being closed, and fail.
  server.keepAliveTimeout = 0
  server.listen(0, host)
  await once(server, 'listening')
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    requests,
    forgetRequests: () => void requests.splice(0),
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
