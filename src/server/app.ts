import { setTimeout as sleep } from 'node:timers/promises'
import { type Context, Hono } from 'hono'
import { setCookie } from 'hono/cookie'
import { z } from 'zod'
import { toError, type TypedError } from '../result/typed-error.ts'
import { api, type ServerApi, cookie } from './api.ts'
import { parseBody, jsonIn, textOf } from './body.ts'
import { withEnd } from './bounded.ts'
import { bytesAnswered, streamResponse } from './bytes.ts'
import { countSteps, type StepGauges } from './metrics.ts'
import { openApi } from './openapi.ts'
import { pageForUnknown, servePage } from './page.ts'
import { requestError } from './problem.ts'
import { basePath, everyHeader, type HttpResponse, problemReply, replyOf } from './reply.ts'
import type { Flow, SessionResponse, SseStream } from './route.ts'
import { routes } from './routes/index.ts'
import { sessionBody } from './shapes/session.ts'
import type { ServerSettings } from './settings.ts'
import { eventsMedia } from './sse.ts'
import { streamLimit } from './stream-limit.ts'

/** Time within which the store must answer to count as ready, in milliseconds. Most health checks wait for one second. */
const readyWithin = 800
/** Time within which steps are counted for a metric, in milliseconds. Prometheus waits for ten seconds by default. */
const countedWithin = 5_000
/** Interval at which an event stream checks that its caller still has access, in milliseconds. */
const recheckEvery = 1_000
const silent = (store: string): TypedError & { readonly store: string } => ({
  _tag: 'StoreUnavailable',
  message: `${store} has not answered for ${readyWithin} ms: run \`palimpsest doctor\``,
  store,
})

/**
 * Maximum size, in bytes, of a request that exchanges a token for a session. Such a request needs no authorization, so the limit is
 * low.
 */
const largestSession = 4 * 1024

type Variables = { by: string }
type Of = Context<{ Variables: Variables }>

/** Makes the web application with the API and the page; requests are passed to `app(settings).fetch(request)`. */
export const app = (settings: ServerSettings): Hono<{ Variables: Variables }> =>
  appOf(api(settings), settings)

/** Makes the web application for an existing API. The operations of the API may also be called without the application. */
export const appOf = (operations: ServerApi, settings: ServerSettings): Hono<{ Variables: Variables }> => {
  const { onFault, isReadOnly = false, ending, authenticate } = settings
  const { store, counts, maxBody, permitted } = operations
  const server = new Hono<{ Variables: Variables }>()

  let looking: Promise<true> | undefined
  const look = async (): Promise<true> => {
    for await (const _ of store.conversations()) break
    return true
  }
  /** Checks that the store answers. Concurrent requests share one check, as it may last until a timeout if the store is down. */
  const answers = (): Promise<true> => {
    const own = (looking ??= look().finally(() => (looking = undefined)))
    // Prevents an unhandled rejection if the check fails after the request has been answered.
    own.catch(() => undefined)
    return own
  }

  /** Returns the error for which the server is not ready; undefined if it is ready. */
  const whyNotReady = async (): Promise<Error | undefined> => {
    try {
      const isReady = await Promise.race([answers(), sleep(readyWithin, false, { ref: false })])
      if (!isReady) return toError(silent(store.url))
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
    const problem = settings.tokenProblem?.() ?? (await settings.writeProblem?.())
    return problem && toError({ _tag: 'StoreUnavailable', message: problem.message })
  }

  let noted: string | undefined
  /** Reports a change of readiness, once: probes come every few seconds. */
  const noteReadiness = (problem: Error | undefined): void => {
    const message = problem?.message
    if (message === noted) return
    noted = message
    settings.onReadiness?.(message)
  }

  let counting: Promise<StepGauges | undefined> | undefined
  /** Counts the steps. Concurrent requests share one count. If the store cannot be read, the other metrics are still served. */
  const steps = (): Promise<StepGauges | undefined> =>
    (counting ??= countSteps(store)
      .catch(() => undefined)
      .finally(() => (counting = undefined)))

  const fail = (error: unknown, headers?: HttpResponse['headers']): Response =>
    responseOf(operations.problem(error, headers))

  server.use(async (c, next) => {
    const began = performance.now()
    if (!c.req.path.startsWith(`${basePath}/`)) withEveryHeader(c)
    await next()
    const { method, path } = c.req
    const ms = performance.now() - began
    operations.served({ method, route: routeOf(c), path, status: c.res.status, ms, by: c.get('by') })
  })
  server.use(async (c, next) => {
    operations.checkOrigin(c.req)
    await next()
  })
  server.get(`${basePath}/openapi.json`, (c) => withEveryHeader(c).json(documented()))
  server.get('/healthz', (c) => c.json({ status: 'alive' }))
  server.get('/readyz', async (c) => {
    if (ending?.aborted) return fail(requestError('Ending', 'this server is stopping'))
    const problem = await whyNotReady()
    noteReadiness(problem)
    if (problem !== undefined) return responseOf(problemReply(problem, undefined))
    const warnings = settings.warnings?.() ?? []
    return c.json({ status: 'ready', ...(warnings.length > 0 && { warnings }) })
  })
  server.get('/metrics', async (c) => {
    permitted(c.req, { scope: 'read', method: 'get' })
    const gauges = await Promise.race([steps(), sleep(countedWithin, undefined, { ref: false })])
    return c.text(counts.text(settings.warnings?.().length ?? 0, gauges))
  })
  server.get(`${basePath}/session`, (c) => {
    const { by, scopes } = permitted(c.req, { scope: 'read', method: 'get' })
    return withEveryHeader(c).json({ by, scopes, isReadOnly, store: store.url } satisfies SessionResponse)
  })
  server.post(`${basePath}/session`, async (c) => {
    const body = jsonIn(c.req.header('content-type'), await textOf(c, largestSession))
    const { token } = parseBody(sessionBody, body)
    const id = operations.beginSession(token)
    // The server itself speaks plain HTTP. The browser's own origin says whether a proxy in front of it speaks TLS.
    const secure = c.req.header('origin')?.startsWith('https:') === true
    setCookie(c, cookie, id, { httpOnly: true, sameSite: 'Strict', path: '/', secure })
    return withEveryHeader(c).json({})
  })

  servePage(server, settings.page)

  const reserve = streamLimit(settings.mostStreams)

  for (const route of routes) {
    const { method, path, scope } = route
    server.on(method, `${basePath}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, async (c) => {
      const identity = permitted(c.req, route)
      c.set('by', identity.by)
      const lost = new AbortController()
      const given = {
        params: c.req.param(),
        query: queryOf(c, route.query),
        text: () => textOf(c, maxBody),
        signal: () => (authenticate ? AbortSignal.any([c.req.raw.signal, lost.signal]) : c.req.raw.signal),
      }
      const free = reserve(route, { get: (name) => c.req.header(name) ?? null })
      const answer = await operations.carryOut(route, c.req, given, identity).catch((error: unknown) => {
        free?.()
        throw error
      })
      if ('body' in answer) {
        free?.()
        return responseOf(replyOf(c.req, answer, operations.accessOf(identity)))
      }
      withEveryHeader(c)
      if ('bytes' in answer) return bytesAnswered(c, answer)
      const mayStill = (): boolean => operations.mayStill(c.req, scope)
      return streamResponse(
        c,
        'flow' in answer ? answer : eventsOf(withEnd(counted(answer, mayStill, lost), async () => free?.())),
        (error) => onFault?.(error),
      )
    })
  }

  /** Counts a stream while it is read, and ends it with `lost` once its caller has no access any more. */
  async function* counted(texts: SseStream, mayStill: () => boolean, lost: AbortController): SseStream {
    counts.streams(1)
    const checking = authenticate && setInterval(() => mayStill() || lost.abort(), recheckEvery).unref()
    try {
      for await (const text of texts) {
        if (!mayStill()) return
        yield text
      }
    } finally {
      clearInterval(checking)
      counts.streams(-1)
    }
  }

  server.notFound((c) => {
    const { path } = c.req
    const allow = methodsAt(path).join(', ')
    const page = allow === '' ? pageForUnknown(c, settings.page) : undefined
    if (page) return page
    return allow === ''
      ? fail(requestError('NotFound', `there is no ${path}: ${basePath}/openapi.json lists all paths`))
      : fail(requestError('MethodNotAllowed', `${path} accepts only ${allow}`), { allow })
  })
  server.onError((error) => fail(error))
  return server
}

/** OpenAPI document. It is made on the first request for it, because making it takes longer than creating the rest of a server. */
let document: ReturnType<typeof openApi> | undefined
const documented = () => (document ??= openApi(routes, basePath))

const patterns = routes.map(({ method, path }) => ({
  method: method.toUpperCase(),
  pattern: new RegExp(`^${basePath}${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))
const methodsAt = (path: string): readonly string[] =>
  patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)

const routeOf = (c: Context): string | undefined => {
  const path = c.req.routePath
  return path === '*' || path === '/*' ? undefined : path
}

/**
 * Returns the query fields. A list may be given as several values, as some clients send it. Throws `InvalidRequest` if another field is
 * given more than once.
 */
const queryOf = (c: Of, query: z.ZodObject | undefined): Record<string, string> => {
  if (!c.req.url.includes('?')) return {}
  const fields: [string, string][] = []
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (values.length > 1 && !isList(query?.shape[name]))
      throw requestError('InvalidRequest', `${name} is given ${values.length} times: give it once`)
    fields.push([name, values.join(',')])
  }
  return Object.fromEntries(fields)
}

const isList = (schema: z.core.$ZodType | undefined): boolean =>
  schema !== undefined && z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }).type === 'array'

/** Sets the headers that all responses share. JSON responses of routes get them in `replyOf` instead. */
const withEveryHeader = (c: Context): Context => {
  for (const [name, value] of Object.entries(everyHeader)) c.header(name, value)
  return c
}

const responseOf = ({ status, headers, text }: HttpResponse): Response =>
  new Response(text, { status, headers })

const eventsOf = (flow: SseStream): Flow => ({
  headers: { 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  type: eventsMedia,
  flow,
})
