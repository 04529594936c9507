import * as E from 'fp-ts/lib/Either.js'
import { type Context, Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { z } from 'zod'
import { parsed } from '../events/check.ts'
import type { Conversation, Store } from '../index.ts'
import { remembered } from '../store/lru.ts'
import { isTyped, toError } from '../result/typed.ts'
import { bodyOf } from './body.ts'
import { bytesAnswered, flowing, isKnown } from './bytes.ts'
import { guard, loopback, safeHeaders } from './guard.ts'
import { metrics, type Served } from './metrics.ts'
import { openApi } from './openapi.ts'
import { type PageFiles, servePage } from './page.ts'
import { commandBook, commandIdOf, type Named } from './preconditions.ts'
import { problemOf, refused } from './problem.ts'
import { newRelay, type Relay } from './relay.ts'
import { rosterOf } from './roster.ts'
import {
  type Answer,
  type Answered,
  type Flow,
  type Identity,
  type Reads,
  type Route,
  type Streamed,
  scopes,
} from './route.ts'
import { routes } from './routes/index.ts'
import { sessions } from './sessions.ts'
import { eventsMedia } from './sse.ts'
import { together } from './together.ts'
import type { Authenticate } from './tokens.ts'

export const basePath = '/api/v1'

/** What a server serves, and to whom. */
export interface ServerSettings {
  readonly store: Store
  /** Who a token belongs to. Without it everybody may do everything: for loopback only. */
  readonly authenticate?: Authenticate | undefined
  /** The names that it may be called by, besides those of loopback. */
  readonly hosts?: readonly string[] | undefined
  /** Refuse everything that writes. */
  readonly isReadOnly?: boolean | undefined
  /** The page that people look at. Without it, its addresses say how it is built. */
  readonly page?: PageFiles | undefined
  /** The folder of the page for exports. Default: the package's own. */
  readonly pageFile?: URL | undefined
  /** The largest body of a request, in bytes. Default 64 MiB. */
  readonly maxBody?: number | undefined
  /** Told of each request when its answer begins. */
  readonly onRequest?: ((request: Served) => void) | undefined
  /** Told of faults of this server, which callers are not told of. */
  readonly onFault?: ((error: unknown) => void) | undefined
  /** What workers tell of their turns. Default: what they post. */
  readonly relay?: Relay | undefined
  /** How often a silent stream shows that it lives, in milliseconds. Default 15,000. */
  readonly heartbeat?: number | undefined
  /** Aborts when the server ends: streams end then. */
  readonly ending?: AbortSignal | undefined
}

const everybody: Identity = { actor: { kind: 'user' }, by: 'user', scopes }
const largestBody = 64 * 1024 * 1024
/** Of a request from anybody: it has a token. */
const largestSession = 4 * 1024
const cookie = 'palimpsest'

type Variables = { readonly identity: Identity }
type Of = Context<{ Variables: Variables }>

/** The API as a function of requests: `app(settings).fetch(request)`. */
export const app = (settings: ServerSettings): Hono<{ Variables: Variables }> => {
  const { authenticate, hosts = [], isReadOnly = false, maxBody = largestBody } = settings
  const { onRequest, onFault, ending = new AbortController().signal } = settings
  const store = withKnownChats(settings.store)
  const server = new Hono<{ Variables: Variables }>()
  const isAllowed = guard([...loopback, ...hosts])
  const book = commandBook()
  const reads: Reads = (path) => readsOf(settings.store)(path)
  const relay = settings.relay ?? newRelay()
  const roster = rosterOf(store, ending)
  const session = sessions()
  const counts = metrics()
  const gathered = together()

  const identityOf = (c: Of): Identity | undefined => {
    if (!authenticate) return everybody
    const bearer = /^Bearer (\S+)$/.exec(c.req.header('authorization') ?? '')?.[1]
    const token = bearer ?? session.tokenOf(getCookie(c, cookie))
    return token === undefined ? undefined : authenticate(token)
  }

  const permitted = (c: Of, { scope, method }: Pick<Route, 'scope' | 'method'>): Identity => {
    const identity = identityOf(c)
    if (!identity) throw refused('Unauthorized', 'give a token that is valid: Authorization: Bearer …')
    if (!identity.scopes.includes(scope))
      throw refused('Forbidden', `this needs a token with the scope ${scope}`, { scope })
    if (isReadOnly && method !== 'get' && scope !== 'read')
      throw refused('ReadOnly', 'this server only reads')
    return identity
  }

  const fail = (c: Context, error: unknown): Response => {
    const known = isTyped(error) ? error : undefined
    withEveryHeader(c)
    const problem = problemOf(
      known ?? { _tag: 'Internal', message: 'this server has a fault; its log says which' },
    )
    if (problem.status >= 500) onFault?.(error)
    const { conversation, after, last } = problem
    const isStale = problem.status === 412 && Number(after) < Number(last)
    const diff = `${basePath}/conversations/${String(conversation)}/diff?from=${String(after)}&to=${String(last)}`
    const headers: Record<string, string> = { 'content-type': 'application/problem+json' }
    if (problem.status === 401) headers['www-authenticate'] = 'Bearer'
    if (problem.status === 503) headers['retry-after'] = '1'
    if (problem.status === 416) headers['content-range'] = `bytes */${String(problem['size'])}`
    return c.body(JSON.stringify(isStale ? { ...problem, diff } : problem), problem.status as 500, headers)
  }

  server.use(async (c, next) => {
    const began = performance.now()
    if (!c.req.path.startsWith(`${basePath}/`)) withEveryHeader(c)
    await next()
    const served: Served = {
      method: c.req.method,
      route: routeOf(c),
      path: c.req.path,
      status: c.res.status,
      ms: performance.now() - began,
      by: (c.get('identity') as Identity | undefined)?.by,
    }
    counts.count(served)
    onRequest?.(served)
  })
  server.use(async (c, next) => {
    isAllowed(c)
    await next()
  })
  server.get(`${basePath}/openapi.json`, (c) => withEveryHeader(c).json(documented()))
  server.get('/healthz', (c) => c.json({ status: 'alive' }))
  server.get('/readyz', async (c) => {
    if (ending.aborted) return fail(c, refused('Ending', 'this server ends'))
    for await (const _ of store.conversations()) break
    return c.json({ status: 'ready' })
  })
  server.get('/metrics', (c) => {
    permitted(c, { scope: 'read', method: 'get' })
    return c.text(counts.text())
  })
  server.get(`${basePath}/session`, (c) => {
    const { by, scopes: allowed } = permitted(c, { scope: 'read', method: 'get' })
    return withEveryHeader(c).json({ by, scopes: allowed, isReadOnly, store: store.url })
  })
  server.post(`${basePath}/session`, async (c) => {
    const { token } = checked(
      z.strictObject({ token: z.string().min(1).max(200) }),
      await bodyOf(c, largestSession),
    )
    if (!authenticate?.(token)) throw refused('Unauthorized', 'this token is not valid')
    const id = session.begin(token)
    setCookie(c, cookie, id, { httpOnly: true, sameSite: 'Strict', path: '/' })
    return withEveryHeader(c).json({})
  })

  servePage(server, settings.page)

  for (const route of routes) {
    const { method, path, params, query, body } = route
    server.on(method, `${basePath}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`, async (c) => {
      const identity = permitted(c, route)
      c.set('identity', identity)
      const asked = {
        params: params ? checked(params, c.req.param()) : {},
        query: checked(query ?? noFields, queryOf(c)),
        body: body ? checked(body, await bodyOf(c, maxBody)) : undefined,
      }
      if (route.scope === 'write') await gathered()
      const { headers } = c.req.raw
      const call = {
        ...asked,
        headers,
        identity,
        store,
        book,
        reads,
        pageFile: settings.pageFile,
        relay,
        roster,
        heartbeat: settings.heartbeat,
        // No getter: V8 would make a hidden class for each request, which keeps all of it until the next full collection.
        leaving: () => AbortSignal.any([c.req.raw.signal, ending]),
      }
      const named = commandIn(route, call)
      const answer = await (named ? onceAnswered(named, () => route.handle(call)) : route.handle(call))
      if ('body' in answer) return answered(c, answer, accessOf(identity))
      withEveryHeader(c)
      if ('bytes' in answer) return bytesAnswered(c, answer)
      return flowing(
        c,
        'flow' in answer ? answer : eventsOf(counted(answer, () => mayStill(c, route))),
        (error) => onFault?.(error),
      )
    })
  }

  /** What the caller may do here, so that a page knows it without asking. */
  const accessOf = ({ scopes: allowed }: Identity): string =>
    `${allowed.join(' ')}${isReadOnly ? '; read-only' : ''}`

  const onceAnswered = async (named: Named, work: () => Promise<Answered>): Promise<Answered> => {
    const { answer, isRepeat } = await book.once(named, work)
    if (!isRepeat || !('body' in answer)) return answer
    return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } }
  }

  /** Whether who has asked may still have it: a stream is longer than a token may be valid. */
  const mayStill = (c: Of, { scope }: Route): boolean => identityOf(c)?.scopes.includes(scope) === true

  async function* counted(texts: Streamed, isAllowedStill: () => boolean): Streamed {
    counts.streams(1)
    try {
      for await (const text of texts) {
        if (!isAllowedStill()) return
        yield text
      }
    } finally {
      counts.streams(-1)
    }
  }

  server.notFound((c) => {
    const others = methodsAt(c.req.path)
    if (others.length === 0)
      return fail(
        c,
        refused('NotFound', `there is no ${c.req.path}: ${basePath}/openapi.json lists what there is`),
      )
    c.header('allow', others.join(', '))
    return fail(c, refused('MethodNotAllowed', `${c.req.path} takes ${others.join(', ')}`))
  })
  server.onError((error, c) => fail(c, error))
  return server
}

/** What reads a store by this API, for who needs no leave. */
export const readsOf = (store: Store): Reads => {
  const server = app({ store, isReadOnly: true })
  return (path) => server.request(`http://localhost${basePath}${path}`, { headers: { host: 'localhost' } })
}

/** Made once it is asked for, which takes longer than the rest of a server. */
let document: ReturnType<typeof openApi> | undefined
const documented = () => (document ??= openApi(routes, basePath))

const noFields = z.strictObject({})

interface Given {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly headers: Headers
}

/** The command of a call that has an id, and is to be carried out. */
const commandIn = ({ repeats, name }: Route, { params, query, body, headers }: Given): Named | undefined => {
  if (!repeats) return undefined
  const { id, worker } = params as { readonly id?: string; readonly worker?: string }
  const { dryRun } = query as { readonly dryRun?: boolean }
  const command = body as { readonly commandId?: string }
  const commandId = commandIdOf(command.commandId, headers)
  if (commandId === undefined || dryRun) return undefined
  const place = id ?? `worker ${worker}`
  return { place, commandId, command: { ...command, name, params }, isKept: repeats === 'kept' }
}

/** With the handles of the last conversations: a request takes less time than it takes to make one. */
const withKnownChats = (store: Store): Store => {
  const chats = remembered<Conversation>(1_000)
  return {
    ...store,
    conversation: (id) => {
      const chat = chats.get(id) ?? store.conversation(id)
      chats.set(id, chat)
      return chat
    },
  }
}

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

const checked = <S extends z.ZodType>(schema: S, value: unknown): z.infer<S> => {
  const given = parsed(schema, value)
  if (E.isLeft(given)) throw toError(given.left)
  return given.right
}

/** Each field once. */
const queryOf = (c: Context): Record<string, string> => {
  if (!c.req.url.includes('?')) return {}
  const fields: [string, string][] = []
  for (const [name, values] of Object.entries(c.req.queries())) {
    const [value = '', ...more] = values
    if (more.length > 0)
      throw refused('InvalidRequest', `${name} is given ${values.length} times: give it once`)
    fields.push([name, value])
  }
  return Object.fromEntries(fields)
}

const everyHeader = { ...safeHeaders, 'cache-control': 'private, no-cache' }

/** Sets the headers of every answer, but for those that `answered` writes itself. */
const withEveryHeader = (c: Context): Context => {
  for (const [name, value] of Object.entries(everyHeader)) c.header(name, value)
  return c
}

/** A response of its own: the adapter takes headers as they are faster than what the context has made of them. */
const answered = (c: Context, { status = 200, headers = {}, body }: Answer, access: string): Response => {
  const { etag, location } = headers
  const all = {
    ...everyHeader,
    ...headers,
    'palimpsest-access': access,
    ...(location !== undefined && { location: `${basePath}${location}` }),
  }
  if (isKnown(c, etag)) return new Response(null, { status: 304, headers: all })
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...all, 'content-type': 'application/json' },
  })
}

const eventsOf = (flow: Streamed): Flow => ({
  headers: { 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  type: eventsMedia,
  flow,
})
