import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
  Agent,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createCollector, mostReply } from '../../recorder/collector.ts'
import { apiAt, type ModelExchange, withoutOtherHeaders } from '../../recorder/exchange.ts'
import type { RecordOutcome } from '../../recorder/record-queue.ts'

/** A beginning of paths, and the server to which requests with such paths go. */
export interface ProxyRoute {
  /** Without a slash at its end; empty for all paths. */
  readonly prefix: string
  readonly upstream: URL
}

interface ProxyOptions {
  /** Port on 127.0.0.1; 0 for any free one. */
  readonly port: number
  readonly routes: readonly ProxyRoute[]
  /**
   * Records a call of a model: once its reply has ended, and with `isStrict` also before the request is passed on. Returns what became of
   * it, for which only a strict proxy waits.
   */
  readonly onCall: (exchange: ModelExchange) => Promise<RecordOutcome>
  /** Called instead if the request is too large to be kept. */
  readonly onMissed: (reason: string) => void
  /**
   * True if nothing is passed on that is not recorded first: a request once it is recorded, and the end of its reply once that is. Other
   * requests with a body are refused, except those that count tokens.
   */
  readonly isStrict: boolean
}

/** A proxy on the loopback interface that passes requests on unchanged. */
export interface RecordProxy {
  readonly url: string
  readonly close: () => Promise<void>
}

/** Headers of one connection, which are not passed on. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Maximum size of a request that is kept for the recorder, in bytes. Larger ones are passed on all the same. */
const mostRequest = 64 * 1024 * 1024

/** A call of a model that passes through. */
interface ProxyCall extends Pick<ModelExchange, 'path' | 'headers' | 'begun'> {
  readonly id: string
  readonly sent: ReturnType<typeof createCollector>
}

/** The reply of a call that has none. Its bytes are given to another thread, so each has its own. */
const noReply = (): ModelExchange['reply'] => ({
  status: 0,
  headers: {},
  body: new Uint8Array(),
  isWhole: false,
})

const mayHaveBody = ({ method = 'GET' }: IncomingMessage): boolean =>
  !['GET', 'HEAD', 'OPTIONS'].includes(method)

/** Starts the proxy. */
export const startProxy = async ({
  port,
  routes,
  onCall,
  onMissed,
  isStrict,
}: ProxyOptions): Promise<RecordProxy> => {
  const agents = { http: new Agent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }
  let hosts: readonly string[] = []

  const forward = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = 'GET', url = '', headers } = request
    // Another origin's page can reach this port, under another name, too.
    if (!hosts.includes(headers.host ?? '')) return refuse(response, 403, `the host must be ${hosts[0]}`)
    if (headers.origin !== undefined) return refuse(response, 403, 'requests of web pages are not passed on')
    const route = routes.find(({ prefix }) => url.startsWith(`${prefix}/`))
    if (!route)
      return refuse(
        response,
        404,
        `the path must begin with ${routes.map(({ prefix }) => prefix).join(' or ')}`,
      )
    const { upstream, prefix } = route
    const path = upstream.pathname.replace(/\/$/, '') + url.slice(prefix.length)
    const [pathname = ''] = path.split('?')
    const isCall = method === 'POST' && apiAt(pathname) !== undefined
    const call: ProxyCall | undefined = isCall
      ? {
          id: randomUUID(),
          path: pathname,
          headers: withoutOtherHeaders(headersOf(request)),
          begun: new Date(),
          sent: createCollector(mostRequest),
        }
      : undefined
    if (isStrict && !call && mayHaveBody(request) && !pathname.endsWith('/count_tokens'))
      return refuse(
        response,
        403,
        `${pathname} is no call that can be recorded, and --strict passes on no other`,
      )
    const isSecure = upstream.protocol === 'https:'
    const open = (): ClientRequest =>
      (isSecure ? httpsRequest : httpRequest)({
        hostname: upstream.hostname.replace(/^\[|\]$/g, ''),
        port: upstream.port,
        method,
        path,
        headers: [...passedOn(request), ...accountOf(upstream, request), 'Host', upstream.host],
        agent: isSecure ? agents.https : agents.http,
        setHost: false,
      })
    if (isStrict && call) return void forwardRecorded(request, response, { call, open, host: upstream.host })
    const outgoing = open()
    answerFrom(outgoing, response, { call, host: upstream.host })
    request.on('data', (piece: Uint8Array) => {
      call?.sent.add(piece)
      if (outgoing.write(piece)) return
      request.pause()
      outgoing.once('drain', () => request.resume())
    })
    request.on('end', () => outgoing.end())
    request.on('error', () => outgoing.destroy())
  }

  /** Records a request, and passes it on only then. */
  const forwardRecorded = async (
    request: IncomingMessage,
    response: ServerResponse,
    {
      call,
      open,
      host,
    }: { readonly call: ProxyCall; readonly open: () => ClientRequest; readonly host: string },
  ): Promise<void> => {
    try {
      for await (const piece of request) call.sent.add(piece as Uint8Array)
    } catch {
      return
    }
    const body = call.sent.bytes()
    if (!body) return refuse(response, 413, 'the request is too large to be recorded, so it is not passed on')
    // The recorder takes the bytes away.
    const copy = body.slice()
    const { call: recorded, problem = 'it is no call of a model' } = await record(call, body, noReply(), true)
    if (!recorded)
      return refuse(response, 503, `the request is not passed on, because it is not recorded: ${problem}`)
    if (response.destroyed) return void record(call, copy, noReply())
    const outgoing = open()
    answerFrom(outgoing, response, { call, host })
    outgoing.end(copy)
  }

  const record = (
    { id, path, headers, begun }: ProxyCall,
    body: Uint8Array,
    reply: ModelExchange['reply'],
    isOpen = false,
  ): Promise<RecordOutcome> =>
    onCall({ id, path, headers, begun, body, ended: new Date(), reply, ...(isOpen && { isOpen }) })

  /** Passes on the answer to a request, and records the call, if it is one. */
  const answerFrom = (
    outgoing: ClientRequest,
    response: ServerResponse,
    { call, host }: { readonly call: ProxyCall | undefined; readonly host: string },
  ): void => {
    const end = async (reply: ModelExchange['reply']): Promise<boolean> => {
      const body = call?.sent.bytes()
      if (call && !body) onMissed('the request is too large')
      if (!call || !body) return true
      return (await record(call, body, reply)).problem === undefined
    }
    let isAnswered = false
    outgoing.on('response', (answer) => {
      isAnswered = true
      const { statusCode = 502, statusMessage } = answer
      const got = call ? createCollector(mostReply) : undefined
      // The last piece waits until the call is recorded.
      let held: Uint8Array | undefined
      response.writeHead(statusCode, statusMessage, [...passedOn(answer)])
      response.flushHeaders()
      answer.on('data', (piece: Uint8Array) => {
        got?.add(piece)
        const next = isStrict && call ? held : piece
        if (isStrict && call) held = piece
        if (!next || response.write(next)) return
        answer.pause()
        response.once('drain', () => answer.resume())
      })
      answer.once('close', async () => {
        const body = got?.bytes()
        const isWhole = answer.complete && body !== undefined
        const ended = end({
          status: statusCode,
          headers: withoutOtherHeaders(headersOf(answer)),
          body: body ?? new Uint8Array(),
          isWhole,
        })
        if (!answer.complete || (isStrict && !(await ended))) return void response.destroy()
        response.end(held)
      })
      answer.on('error', () => undefined)
    })
    outgoing.on('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) => {
      if (isAnswered) return
      isAnswered = true
      refuse(response, 502, `${host} cannot be reached (${code})`)
      void end(noReply())
    })
    // A client that goes away ends its call.
    response.on('close', () => {
      if (!response.writableFinished) outgoing.destroy()
    })
  }

  const server = createServer(forward)
  // A model may think for a long time.
  server.requestTimeout = 0
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: actual } = server.address() as AddressInfo
  hosts = [`127.0.0.1:${actual}`, `localhost:${actual}`]
  return {
    url: `http://127.0.0.1:${actual}`,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

/** Answers a request that is not passed on. */
const refuse = (response: ServerResponse, status: number, message: string): void => {
  if (response.headersSent) return void response.destroy()
  const error = { type: 'palimpsest_record', message: `palimpsest record: ${message}` }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ type: 'error', error }))
}

/** Yields the headers of a message in the order and the spelling in which they came. */
function* headersOf({ rawHeaders }: IncomingMessage): Generator<readonly [string, string]> {
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    yield [rawHeaders[index] ?? '', rawHeaders[index + 1] ?? '']
}

/** Yields names and values of the headers that are passed on. */
function* passedOn(message: IncomingMessage): Generator<string> {
  const { connection = '', 'transfer-encoding': encoding } = message.headers
  const named = new Set(connection.split(',').map((name) => name.trim().toLowerCase()))
  for (const [name, value] of headersOf(message)) {
    const lower = name.toLowerCase()
    if (hopByHop.has(lower) || named.has(lower) || lower === 'host') continue
    yield name
    yield value
  }
  if (encoding !== undefined) {
    yield 'Transfer-Encoding'
    yield 'chunked'
  }
}

/** Returns the header for the account in an upstream's URL, unless the client sends one of its own. */
const accountOf = ({ username, password }: URL, { headers }: IncomingMessage): readonly string[] => {
  if (username === '' || headers.authorization !== undefined) return []
  const account = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return ['Authorization', `Basic ${Buffer.from(account).toString('base64')}`]
}
