import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAnswers } from '../../../../src/testing/messages-api/answers.ts'
import { readRequest } from '../../../../src/testing/messages-api/incoming-request.ts'
import type { ApiFailure, ApiReply } from '../../../../src/testing/messages-api/replies.ts'
import type { ApiRequest } from '../../../../src/testing/messages-api/request.ts'
import { errorBody, sendJson, sendMessage, streamMessage } from '../../../../src/testing/messages-api/send.ts'

/** A call of the model, as it is seen from outside. Times in milliseconds, by the clock of the test. */
export interface Call {
  readonly request: string
  readonly chat: string
  readonly worker: string
  readonly pid: number
  readonly begun: number
  /** When the answer was sent, or the caller went away. */
  ended: number
  status: number
}

export interface FakeModel {
  readonly url: string
  readonly calls: readonly Call[]
  readonly close: () => void
}

const header = ({ headers }: IncomingMessage, name: string): string => String(headers[name] ?? '')

/**
 * The strict Messages API, which also remembers who called it, when, and for which conversation.
 *
 * @param reply told who calls
 */
export const fakeModel = async (
  reply: (body: ApiRequest, call: Call) => Promise<ApiReply | ApiFailure>,
): Promise<FakeModel> => {
  const calls: Call[] = []
  const callers = new AsyncLocalStorage<Call>()
  const answerTo = createAnswers({ reply: (body) => reply(body, callers.getStore() as Call) })

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = `req_${calls.length}`
    const call: Call = {
      request,
      chat: header(message, 'x-chat'),
      worker: header(message, 'x-worker'),
      pid: Number(header(message, 'x-pid')),
      begun: performance.now(),
      ended: Infinity,
      status: 0,
    }
    calls.push(call)
    response.setHeader('request-id', request)
    response.once('close', () => {
      call.ended = Math.min(call.ended, performance.now())
    })
    const { body, isCount, failure: early } = await readRequest(message, undefined)
    const answer = early ? { failure: early } : await callers.run(call, () => answerTo(body, isCount))
    if (response.destroyed) return
    if ('message' in answer) {
      call.status = 200
      const send = answer.isStream ? streamMessage : sendMessage
      const { fault, delay = 0 } = answer.reply
      return send(response, answer.message, { requestId: request, fault, delay })
    }
    if ('count' in answer) return sendJson(response, 200, { input_tokens: answer.count })
    call.status = answer.failure.status
    const { retryAfter } = answer.failure
    if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
    sendJson(response, call.status, errorBody(answer.failure, request))
  }

  const server = createServer((message, response) => {
    handle(message, response).catch(() => response.destroy())
  })
  // A connection that the server closes while a starved process uses it again would fail the call.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
