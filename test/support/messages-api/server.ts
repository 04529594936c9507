import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Block } from '../../../src/events/blocks.ts'
import { canonical, digest } from './canonical.ts'
import { promptCache } from './prompt-cache.ts'
import { defaultReply, type Failure, finish, type Message, type Reply } from './replies.ts'
import { type Body, isThinking, type Model, type Request, textOf } from './request.ts'
import { errorBody, overloaded, sendJson, sendMessage, streamMessage } from './send.ts'
import { signatures } from './signatures.ts'
import { type Valid, validate } from './validate.ts'

/** A request that came, and what became of it. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Undefined if it is no JSON. */
  readonly body: Body | undefined
  /** Of the answer, even if it broke. */
  readonly status: number
  /** The answer as it would be in one piece: a message, a count, or an error. */
  readonly answer: Message | { readonly input_tokens: number } | ReturnType<typeof errorBody>
  /** Whether the whole answer was sent. */
  readonly isComplete: () => boolean
}

export interface MessagesApi {
  /** `http://127.0.0.1:PORT`: the SDK's `baseURL`. */
  readonly url: string
  /** In the order in which they were answered. */
  readonly requests: readonly Received[]
  readonly forgetRequests: () => void
  /** Breaks what is still open. */
  readonly close: () => Promise<void>
}

export interface MessagesApiOptions {
  /**
   * What to answer to a valid request, the `n`th (from 0) of those to create a message. By default a reply made of the request
   * and the seed.
   */
  readonly reply?: (body: Body, n: number) => Reply | Failure | Promise<Reply | Failure>
  /** Decides default replies, ids and signatures: a server with the same seed takes this one's signatures as its own. Default 0. */
  readonly seed?: number
  /** Models by name, besides the default ones or instead of them. What is not said of a model is as that of `claude-opus-5-5`. */
  readonly models?: Readonly<Record<string, Partial<Model>>>
  /** The time of the prompt cache, in milliseconds. Default: the clock. */
  readonly now?: () => number
  /** Thinking and compactions that this server did not make are taken as valid, whatever stands before them. Default false. */
  readonly foreignSignatures?: boolean
  /** A server tool that waits in a request's last message is taken as one that another server's pause left open. Default false. */
  readonly foreignPauses?: boolean
}

const newest: Model = {
  contextWindow: 200_000,
  maxOutput: 64_000,
  prefill: false,
  systemMessages: true,
  minCached: 1_024,
}
const defaultModels: Readonly<Record<string, Partial<Model>>> = {
  'claude-opus-5-5': {},
  'claude-sonnet-5-5': {},
  'claude-haiku-4-5': { prefill: true, systemMessages: false },
}

/** How a request is answered. */
type Answer =
  | { readonly failure: Failure; readonly code?: string | undefined }
  | { readonly count: number }
  | { readonly message: Message; readonly reply: Reply; readonly isStream: boolean }

const isWaiting = (blocks: readonly Block[]): boolean =>
  blocks.some(
    ({ type, id }) =>
      (type === 'server_tool_use' || type === 'mcp_tool_use') &&
      !blocks.some((block) => block['tool_use_id'] === id),
  )

const host = '127.0.0.1'

/** A Messages API on the loopback interface, which refuses what the real one refuses. */
export const messagesApi = async (options: MessagesApiOptions = {}): Promise<MessagesApi> => {
  const { seed = 0, now = Date.now, foreignSignatures = false, foreignPauses = false } = options
  const named = Object.entries({ ...defaultModels, ...options.models })
  const models = new Map(named.map(([name, model]) => [name, { ...newest, ...model }]))
  const signer = signatures(`seed ${seed}`, foreignSignatures)
  const cache = promptCache(now)
  const requests: Received[] = []
  /** Replies that said `pause_turn`: a request may end in one of them, whole. */
  const paused = new Set<string>()
  let replies = 0
  let received = 0

  const pausedIn = ({ turns }: Request): number => {
    const last = turns.at(-1)
    if (last?.role !== 'assistant') return 0
    const blocks = last.parts.map(({ block }) => block)
    const from = blocks.findIndex((_, index) => paused.has(marksOf(blocks.slice(index))))
    if (from >= 0) return blocks.length - from
    return foreignPauses && isWaiting(blocks) ? blocks.length : 0
  }

  const answerTo = async (body: unknown, isCount: boolean): Promise<Answer> => {
    const valid = validate(body, isCount, { models, signer, pausedIn })
    if ('message' in valid) {
      const { status = 400, message, code } = valid
      const type = status === 404 ? 'not_found_error' : 'invalid_request_error'
      return { failure: { status, type, message }, code }
    }
    return isCount ? { count: valid.input.tokens } : reply(valid)
  }

  const reply = async ({ request, model, input }: Valid): Promise<Answer> => {
    const { body } = request
    const n = replies++
    const spoken = request.parts.map(({ role, text }) => role + text()).join('\n')
    const asked = digest([seed, body.model, request.frame(), spoken].join('\n'))
    const said = options.reply ? await options.reply(body, n) : defaultReply(request, asked)
    if ('status' in said) return { failure: said }
    const isStream = body.stream === true
    if (said.fault?.kind === 'error' && (said.fault.after === undefined || !isStream))
      return { failure: overloaded }
    const billed = cache.bill(body.model, input, model)
    // The same request may be answered again, and otherwise.
    const id = digest(`${asked}${n}`).slice(0, 22)
    const message = finish(said, { request, model, billed, id }, signer)
    const marks = marksOf(message.content)
    if (message.stop_reason === 'pause_turn' && marks !== '') paused.add(marks)
    return { message, reply: said, isStream }
  }

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = `req_${String(++received).padStart(24, '0')}`
    response.setHeader('request-id', requestId)
    const path = new URL(incoming.url ?? '/', `http://${host}`).pathname
    const text = await bodyOf(incoming)
    const body = parsed(text)
    const record = (status: number, answer: Received['answer'], isWhole = true): void => {
      const isComplete = (): boolean => isWhole && response.writableFinished
      requests.push({
        path,
        headers: incoming.headers,
        body: body as Body | undefined,
        status,
        answer,
        isComplete,
      })
    }
    const early = earlyFailure(incoming, path, text, body)
    const answer = early ? { failure: early } : await answerTo(body, path.endsWith(countPath))
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

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else sendJson(response, 500, errorBody({ type: 'api_error', message: String(error) }, ''))
    })
  })
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

const messagesPath = '/v1/messages'
const countPath = '/count_tokens'

const bodyOf = async (incoming: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** @returns undefined if the text is no JSON */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Half a character, which JSON can escape and no text in UTF-8 can hold. */
const hasLoneSurrogate = (text: string, body: unknown): boolean => {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return false
  // Whole characters may be escaped too; `stringify` escapes halves only.
  return /(?<!\\)(\\\\)*\\ud[89a-f]/.test(JSON.stringify(body))
}

/** What is wrong before the request itself is looked at. */
const earlyFailure = (
  { method, headers }: IncomingMessage,
  path: string,
  text: string,
  body: unknown,
): Failure | undefined => {
  if (method !== 'POST' || (path !== messagesPath && path !== messagesPath + countPath))
    return { status: 404, type: 'not_found_error', message: 'Not found' }
  if (headers['x-api-key'] === undefined && headers.authorization === undefined)
    return { status: 401, type: 'authentication_error', message: 'x-api-key header is required' }
  const type = 'invalid_request_error'
  if (headers['anthropic-version'] === undefined)
    return { status: 400, type, message: 'anthropic-version: header is required' }
  if (body === undefined) return { status: 400, type, message: 'The request body is not valid JSON' }
  return hasLoneSurrogate(text, body)
    ? { status: 400, type, message: 'The request body is not valid JSON: no low surrogate in string' }
    : undefined
}

/**
 * Blocks as they come back: without thinking, which has a rule of its own, and without what no request may hold: blank texts, a
 * compaction in the middle. White space at the end of a text may be left out.
 */
const marksOf = (blocks: readonly Block[]): string =>
  blocks
    .filter((block) => !isThinking(block) && block.type !== 'compaction' && !isBlank(block))
    .map(markOf)
    .join('\n')

const isBlank = (block: Block): boolean => block.type === 'text' && textOf(block, 'text').trim() === ''

const markOf = (block: Block): string =>
  canonical(block.type === 'text' ? { ...block, text: textOf(block, 'text').trimEnd() } : block)
