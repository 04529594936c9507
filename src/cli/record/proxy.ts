import { once } from 'node:events'
import {
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
  /** Called with each call of a model once its reply has ended. */
  readonly onCall: (exchange: ModelExchange) => void
  /** Called instead if the request is too large to be kept. */
  readonly onMissed: (reason: string) => void
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

/** Starts the proxy. */
export const startProxy = async ({ port, routes, onCall, onMissed }: ProxyOptions): Promise<RecordProxy> => {
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
    const begun = new Date()
    const sent = isCall ? createCollector(mostRequest) : undefined
    const isSecure = upstream.protocol === 'https:'
    const outgoing = (isSecure ? httpsRequest : httpRequest)({
      hostname: upstream.hostname.replace(/^\[|\]$/g, ''),
      port: upstream.port,
      method,
      path,
      headers: [...passedOn(request), ...accountOf(upstream, request), 'Host', upstream.host],
      agent: isSecure ? agents.https : agents.http,
      setHost: false,
    })
    const end = (reply: ModelExchange['reply']): void => {
      const body = sent?.bytes()
      if (!sent) return
      if (!body) return onMissed('the request is too large')
      onCall({
        path: pathname,
        headers: withoutOtherHeaders(headersOf(request)),
        body,
        begun,
        ended: new Date(),
        reply,
      })
    }
    let isAnswered = false
    outgoing.on('response', (answer) => {
      isAnswered = true
      const { statusCode = 502, statusMessage } = answer
      const got = isCall ? createCollector(mostReply) : undefined
      response.writeHead(statusCode, statusMessage, [...passedOn(answer)])
      response.flushHeaders()
      answer.on('data', (piece: Uint8Array) => {
        got?.add(piece)
        if (response.write(piece)) return
        answer.pause()
        response.once('drain', () => answer.resume())
      })
      answer.once('close', () => {
        const body = got?.bytes()
        const isWhole = answer.complete && body !== undefined
        if (answer.complete) response.end()
        else response.destroy()
        end({
          status: statusCode,
          headers: withoutOtherHeaders(headersOf(answer)),
          body: body ?? new Uint8Array(),
          isWhole,
        })
      })
      answer.on('error', () => undefined)
    })
    outgoing.on('error', ({ code = 'unknown error' }: NodeJS.ErrnoException) => {
      if (isAnswered) return
      isAnswered = true
      refuse(response, 502, `${upstream.host} cannot be reached (${code})`)
      end({ status: 0, headers: {}, body: new Uint8Array(), isWhole: false })
    })
    // A client that goes away ends its call.
    response.on('close', () => {
      if (!response.writableFinished) outgoing.destroy()
    })
    request.on('data', (piece: Uint8Array) => {
      sent?.add(piece)
      if (outgoing.write(piece)) return
      request.pause()
      outgoing.once('drain', () => request.resume())
    })
    request.on('end', () => outgoing.end())
    request.on('error', () => outgoing.destroy())
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
