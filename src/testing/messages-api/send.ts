import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeEvent, eventsOf, type StreamEvent } from './events.ts'
import { failures } from './failures.ts'
import type { ApiFailure, Fault, ApiMessage } from './replies.ts'

/** Returns an error in the form of a response body. */
export const errorBody = (
  { type, message }: Pick<ApiFailure, 'type' | 'message'>,
  requestId: string,
  code?: string,
): StreamEvent => ({
  type: 'error',
  error: { type, message, ...(code !== undefined && { details: { error_code: code } }) },
  request_id: requestId,
})

export const sendJson = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

interface Manner {
  readonly requestId: string
  readonly fault: Fault | undefined
  readonly delay: number
}

/** Closes the connection without ending the response. */
const drop = (response: ServerResponse): void => void response.socket?.destroy()

const write = (response: ServerResponse, text: string): Promise<void> =>
  new Promise((resolve) => {
    response.write(text, () => resolve())
  })

/** Sends an answer without streaming, or simulates its fault. */
export const sendMessage = async (
  response: ServerResponse,
  message: ApiMessage,
  { fault, delay }: Manner,
): Promise<void> => {
  if (delay > 0) await sleep(delay)
  if (fault?.kind === 'stall') return
  if (fault) drop(response)
  else sendJson(response, 200, message)
}

/** Streams an answer as events until it is complete or its fault occurs. */
export const streamMessage = async (
  response: ServerResponse,
  message: ApiMessage,
  { requestId, fault, delay }: Manner,
): Promise<void> => {
  const events = eventsOf(message)
  const first = events.slice(0, fault ? (fault.after ?? (fault.kind === 'end' ? -1 : 0)) : undefined)
  if (fault?.after === undefined && fault?.kind === 'stall') return
  if (fault?.after === undefined && fault?.kind === 'drop') return drop(response)

  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  response.flushHeaders()
  if (delay === 0) await write(response, first.map(encodeEvent).join(''))
  else
    for (const event of first) {
      await sleep(delay)
      if (response.destroyed) return
      await write(response, encodeEvent(event))
    }
  if (fault?.kind === 'stall') return
  if (fault?.kind === 'drop') return drop(response)
  if (fault?.kind === 'error') await write(response, encodeEvent(errorBody(failures.overloaded, requestId)))
  response.end()
}
