import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { ServerApi } from './api.ts'
import type { RequestHead, RequestInput } from './request-input.ts'
import { bodyBrokenOff, decodeBody } from './body.ts'
import { basePath, type HttpResponse, replyOf } from './reply.ts'
import type { Route } from './route.ts'
import { routes } from './routes/index.ts'

// Answers requests without web `Request` and `Response` objects, which take as long to create as the rest of an append. This file only
// reads requests and writes responses; the operations are defined elsewhere.

interface Operation {
  readonly route: Route
  /** Path in the notation of the web router, with parameters as `:name`. */
  readonly pattern: string
  readonly parts: readonly string[]
}
interface Found extends Operation {
  readonly params: Readonly<Record<string, string>>
}

const keyOf = (method: string | undefined, parts: number): string => `${method} ${parts}`

/** Operations whose responses are always JSON, by method and number of path segments. */
const operations = Map.groupBy(
  routes
    .filter(({ media }) => media === undefined)
    .map((route): Operation => {
      const pattern = `${basePath}${route.path.replaceAll(/\{(\w+)\}/g, ':$1')}`
      return { route, pattern, parts: pattern.split('/') }
    }),
  ({ route, parts }) => keyOf(route.method.toUpperCase(), parts.length),
)

/** Pattern of a path that needs no decoding: without a query, encoded characters or `..`. */
const plain = /^(?:\/[\w:-][\w.:-]*)+$/

const found = (method: string | undefined, path: string): Found | undefined => {
  if (!plain.test(path)) return undefined
  const given = path.split('/')
  for (const operation of operations.get(keyOf(method, given.length)) ?? []) {
    const { parts } = operation
    if (!parts.every((part, index) => part.startsWith(':') || part === given[index])) continue
    const params: Record<string, string> = {}
    for (const [index, part] of parts.entries())
      if (part.startsWith(':')) params[part.slice(1)] = given[index] ?? ''
    return { ...operation, params }
  }
  return undefined
}

/** Makes a listener that answers simple requests for JSON by itself and passes all others to another listener. */
export const direct = (api: ServerApi, otherwise: RequestListener): RequestListener => {
  const answer = async (
    { route, pattern, params }: Found,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ) => {
    const began = performance.now()
    const asked = askedOf(incoming)
    let by: string | undefined
    let reply: HttpResponse
    try {
      api.checkOrigin(asked)
      const identity = api.permitted(asked, route)
      by = identity.by
      const answered = await api.carryOut(route, asked, givenOf(params, incoming, outgoing), identity)
      if (!('body' in answered)) throw new TypeError(`${pattern} does not answer in JSON`)
      reply = replyOf(asked, answered, api.accessOf(identity))
    } catch (error) {
      reply = api.problem(error)
    }
    const { status, headers, text } = reply
    outgoing.writeHead(status, headers).end(text ?? undefined)
    const { method, path } = asked
    api.served({ method, route: pattern, path, status, ms: performance.now() - began, by })
  }

  return (incoming, outgoing) => {
    const { method, url = '' } = incoming
    const operation = method === 'GET' || isShort(incoming, api.maxBody) ? found(method, url) : undefined
    if (operation) void answer(operation, incoming, outgoing)
    else otherwise(incoming, outgoing)
  }
}

const isShort = ({ headers }: IncomingMessage, most: number): boolean =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length']) <= most

/**
 * Reads the head of a request. Repeated headers are joined as in the Fetch standard, because Node itself drops the repeated values of
 * some headers.
 */
const askedOf = ({ method = '', url = '', rawHeaders }: IncomingMessage): RequestHead => ({
  method,
  path: url,
  header: (name) => {
    let value: string | undefined
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const given = rawHeaders[index] ?? ''
      if (given.length !== name.length || given.toLowerCase() !== name) continue
      const more = rawHeaders[index + 1] ?? ''
      value = value === undefined ? more : `${value}${name === 'cookie' ? ';' : ','} ${more}`
    }
    return value
  },
})

const givenOf = (
  params: RequestInput['params'],
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): RequestInput => ({
  params,
  query: {},
  text: () => textIn(incoming),
  signal: () => {
    const left = new AbortController()
    outgoing.on('close', () => left.abort())
    return left.signal
  },
})

const textIn = async (incoming: IncomingMessage): Promise<string> =>
  decodeBody(
    await new Promise((resolve, reject) => {
      const pieces: Buffer[] = []
      incoming.on('data', (piece: Buffer) => pieces.push(piece))
      incoming.on('end', () => resolve(pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces)))
      incoming.on('close', () => {
        if (!incoming.readableEnded) reject(bodyBrokenOff())
      })
    }),
  )
