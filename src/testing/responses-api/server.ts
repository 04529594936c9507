import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ChatFailure, ChatRefusal, JsonFields } from '../chat-completions/body.ts'
import { chatFailures } from '../chat-completions/failures.ts'
import { digest } from '../messages-api/canonical.ts'
import { pieces, type StreamEvent } from '../messages-api/events.ts'
import { hasLoneSurrogate, parseOrUndefined } from '../messages-api/incoming-request.ts'
import { textTokens } from '../messages-api/tokens.ts'
import { itemsOf, requestProblem, type ResponseItem, type ResponsesRequest } from './rules.ts'

export type { ResponseItem, ResponsesRequest } from './rules.ts'

/** A scripted reply. */
export interface ResponsesReply {
  /** Text of the message. Default: none if the reply has calls. */
  readonly text?: string
  /** Summary of the reasoning, which comes before everything else. */
  readonly reasoning?: string
  /** Tool calls. Arguments that are no string are encoded as JSON; a call with `input` is one of a custom tool. */
  readonly calls?: readonly {
    readonly name: string
    /** Name of the tool's namespace. */
    readonly namespace?: string
    readonly arguments?: unknown
    readonly input?: string
  }[]
  /** Usage fields that replace the computed ones. */
  readonly usage?: JsonFields
  /** `drop`: the connection breaks after the first event; `end`: the stream ends there as if it were complete. */
  readonly fault?: 'drop' | 'end'
}

export interface ResponsesApiOptions {
  /**
   * Function that returns the answer to the `n`th valid request, counted from 0. Default: a short text.
   */
  readonly reply?:
    | ((
        body: ResponsesRequest,
        n: number,
      ) => ResponsesReply | ChatFailure | Promise<ResponsesReply | ChatFailure>)
    | undefined
  /** Size of the context windows of models by name, in tokens, added to the default ones. */
  readonly models?: Readonly<Record<string, number>> | undefined
  /** The only accepted key. Default: any key is accepted. */
  readonly apiKey?: string | undefined
  /** Seed for ids and encrypted reasoning. Servers with the same seed accept each other's reasoning. Default 0. */
  readonly seed?: number | undefined
}

/** A received request with its answer. */
export interface ResponsesExchange {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Parsed request body; undefined if it is not JSON. */
  readonly body: ResponsesRequest | undefined
  readonly status: number
  /** Complete answer, even if it was streamed: a response or an error. */
  readonly answer: JsonFields
}

export interface ResponsesApi {
  /** Value for the SDK's `baseURL`: `http://127.0.0.1:PORT/v1`. */
  readonly url: string
  /** Received requests, in the order in which they were answered. */
  readonly requests: readonly ResponsesExchange[]
  readonly forgetRequests: () => void
  /** Closes the server and terminates open connections. */
  readonly close: () => Promise<void>
}

const host = '127.0.0.1'
const defaultModels = { 'gpt-5.2': 400_000, 'gpt-5.2-codex': 400_000, 'gpt-4.1': 1_000_000 }

/**
 * Starts a Responses API on the loopback interface. It rejects the requests that the real API rejects, with the same messages: calls
 * without outputs, outputs without calls, reasoning that is not its own or not followed by its reply, unknown types and parameters. It
 * stores no responses, so `previous_response_id` and item references find nothing.
 *
 * @example
 * import OpenAI from 'openai'
 * import { responsesApi } from 'palimpsest/testing'
 *
 * const api = await responsesApi({ reply: () => ({ text: 'Hello!' }) })
 * const client = new OpenAI({ baseURL: api.url, apiKey: 'any' })
 * const { output_text } = await client.responses.create({ model: 'gpt-5.2', input: 'Hi.', store: false })
 * console.assert(output_text === 'Hello!')
 * await api.close()
 */
export const responsesApi = async (options: ResponsesApiOptions = {}): Promise<ResponsesApi> => {
  const { seed = 0, apiKey } = options
  const windows = new Map(Object.entries({ ...defaultModels, ...options.models }))
  const requests: ResponsesExchange[] = []
  let [received, replies] = [0, 0]
  const macOf = (text: string): string =>
    createHmac('sha256', `seed ${seed}`).update(text).digest('base64url')
  const seal = (text: string): string => `gAAA${Buffer.from(text).toString('base64url')}.${macOf(text)}`
  const isSealed = (sealed: string): boolean => {
    const [text = '', mac] = sealed.slice('gAAA'.length).split('.')
    return mac === macOf(Buffer.from(text, 'base64url').toString())
  }

  const refusalOf = (body: unknown): ChatRefusal | undefined => {
    const found = requestProblem(body, isSealed)
    if (found) return found
    const { model } = body as ResponsesRequest
    const window = windows.get(model)
    if (window === undefined)
      return {
        message: `The requested model '${model}' does not exist.`,
        param: 'model',
        code: 'model_not_found',
      }
    return inputTokens(body as ResponsesRequest) > window
      ? {
          message:
            'Your input exceeds the context window of this model. Please adjust your input and try again.',
          param: 'input',
          code: 'context_length_exceeded',
        }
      : undefined
  }

  const handle = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = `req_r${String(++received).padStart(23, '0')}`
    response.setHeader('x-request-id', requestId)
    const { path, body, failure: early } = await readRequest(message, apiKey)
    const refusal = early ? undefined : refusalOf(body)
    const answer = (status: number, given: JsonFields): void =>
      void requests.push({
        path,
        headers: message.headers,
        body: body as ResponsesRequest | undefined,
        status,
        answer: given,
      })
    const fail = ({
      status,
      message: told,
      type,
      param = null,
      code = null,
      retryAfter,
    }: ChatFailure): void => {
      const error = { error: { message: told, type, param, code } }
      answer(status, error)
      if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
      sendJson(response, status, error)
    }
    if (early) return fail(early)
    if (refusal) return fail({ status: 400, type: 'invalid_request_error', ...refusal })
    const asked = body as ResponsesRequest
    const n = replies++
    const said = options.reply ? await options.reply(asked, n) : { text: `Reply ${n}.` }
    if ('status' in said) return fail(said)
    const made = responseOf(asked, said, digest(JSON.stringify([seed, n, asked])).slice(0, 24), seal)
    answer(200, made)
    if (asked.stream !== true) {
      if (said.fault) response.socket?.destroy()
      else sendJson(response, 200, made)
      return
    }
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
    })
    const events = eventsOf(made).map(
      (event, sequence_number) =>
        `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
    )
    const text = (said.fault ? events.slice(0, 1) : events).join('')
    if (said.fault === 'drop') response.write(text, () => response.socket?.destroy())
    else response.end(text)
  }

  const server = createServer((message, response) => {
    handle(message, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else sendJson(response, 500, { error: { ...chatFailures.broken, message: String(error) } })
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

const readRequest = async (
  message: IncomingMessage,
  apiKey: string | undefined,
): Promise<{ readonly path: string; readonly body: unknown; readonly failure: ChatFailure | undefined }> => {
  const { headers, method, url = '/' } = message
  const path = new URL(url, 'http://localhost').pathname
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const body = parseOrUndefined(text)
  const key = headers.authorization?.replace(/^Bearer /, '')
  const unreadable = {
    status: 400,
    type: 'invalid_request_error',
    message: 'We could not parse the JSON body of your request.',
  }
  const failure =
    method !== 'POST' || path !== '/v1/responses'
      ? chatFailures.notFound
      : key === undefined || (apiKey !== undefined && key !== apiKey)
        ? chatFailures.unauthorized
        : body === undefined || hasLoneSurrogate(text, body)
          ? unreadable
          : undefined
  return { path, body, failure }
}

const sendJson = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const inputTokens = (body: ResponsesRequest): number =>
  textTokens(JSON.stringify([body['instructions'] ?? '', body['tools'] ?? [], itemsOf(body)]))

/** Returns a reply's items, in the order in which the API gives them. */
const outputOf = (
  { text, reasoning, calls = [] }: ResponsesReply,
  id: string,
  sealed: ((text: string) => string) | undefined,
): readonly ResponseItem[] => [
  ...(reasoning === undefined
    ? []
    : [
        {
          type: 'reasoning',
          id: `rs_${id}`,
          summary: [{ type: 'summary_text', text: reasoning }],
          ...(sealed && { encrypted_content: sealed(`${id} ${reasoning}`) }),
        },
      ]),
  ...(text === undefined && calls.length > 0
    ? []
    : [
        {
          type: 'message',
          id: `msg_${id}`,
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: text ?? '', annotations: [], logprobs: [] }],
        },
      ]),
  ...calls.map(({ name, namespace, arguments: given = {}, input }, index) => ({
    ...(input === undefined
      ? {
          type: 'function_call',
          id: `fc_${id}${index}`,
          arguments: typeof given === 'string' ? given : JSON.stringify(given),
        }
      : { type: 'custom_tool_call', id: `ctc_${id}${index}`, input }),
    call_id: `call_${id}${index}`,
    name,
    ...(namespace !== undefined && { namespace }),
    status: 'completed',
  })),
]

const responseOf = (
  body: ResponsesRequest,
  said: ResponsesReply,
  id: string,
  seal: (text: string) => string,
): JsonFields & { readonly output: readonly ResponseItem[] } => {
  const isSealed = body.include?.includes('reasoning.encrypted_content') === true
  const output = outputOf(said, id, isSealed ? seal : undefined)
  const [input, written] = [inputTokens(body), textTokens(JSON.stringify(output))]
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    metadata: body['metadata'] ?? {},
    model: body.model,
    output,
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    temperature: body['temperature'] ?? 1,
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: body['tools'] ?? [],
    top_p: body['top_p'] ?? 1,
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: written,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + written,
      ...said.usage,
    },
  }
}

/** Converts a response into the events of a stream. */
const eventsOf = (
  response: JsonFields & { readonly output: readonly ResponseItem[] },
): readonly StreamEvent[] => {
  const begun = { ...response, status: 'in_progress', output: [], usage: null }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...response.output.flatMap((item, output_index) => [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, ...(item['status'] !== undefined && { status: 'in_progress' }), ...emptied(item) },
      },
      ...deltasOf(item).map((event) => ({ ...event, item_id: item['id'], output_index })),
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response },
  ]
}

/** Returns the fields of an item that the stream fills. */
const emptied = ({ type }: ResponseItem): JsonFields => {
  if (type === 'message') return { content: [] }
  if (type === 'reasoning') return { summary: [] }
  return type === 'function_call' ? { arguments: '' } : { input: '' }
}

const deltasOf = (item: ResponseItem): readonly StreamEvent[] => {
  const { type, content, summary } = item
  if (type === 'message' || type === 'reasoning') {
    const [name, parts, index] =
      type === 'message'
        ? (['output_text', content, 'content_index'] as const)
        : (['reasoning_summary_text', summary, 'summary_index'] as const)
    const part = type === 'message' ? 'content_part' : 'reasoning_summary_part'
    return (parts as readonly JsonFields[]).flatMap((each, at) => {
      const text = String(each['text'])
      return [
        { type: `response.${part}.added`, [index]: at, part: { ...each, text: '' } },
        ...pieces(text).map((delta) => ({ type: `response.${name}.delta`, [index]: at, delta })),
        { type: `response.${name}.done`, [index]: at, text },
        { type: `response.${part}.done`, [index]: at, part: each },
      ]
    })
  }
  const [name, field] =
    type === 'function_call'
      ? (['function_call_arguments', 'arguments'] as const)
      : (['custom_tool_call_input', 'input'] as const)
  const text = String(item[field])
  return [
    ...pieces(text).map((delta) => ({ type: `response.${name}.delta`, delta })),
    { type: `response.${name}.done`, [field]: text, name: item['name'] },
  ]
}
