import { parse } from 'hono/utils/cookie'
import { z } from 'zod'
import type { Conversation, Store } from '../index.ts'
import { createLruCache } from '../store/lru.ts'
import { type RequestHead, type RequestInput } from './request-input.ts'
import { parseBody, jsonIn } from './body.ts'
import { guard, loopback } from './guard.ts'
import { metrics, type ServedRequest } from './metrics.ts'
import { onceDone } from './once.ts'
import { commandBook } from './preconditions.ts'
import { requestError } from './problem.ts'
import { newRelay } from './relay.ts'
import { problemReply, type HttpResponse } from './reply.ts'
import { rosterOf } from './roster.ts'
import { type RouteResponse, type Identity, type Route, type AccessScope, scopes } from './route.ts'
import { sessions } from './sessions.ts'
import type { ServerSettings } from './settings.ts'
import { together } from './together.ts'

/** Operations of the API and their access rules, independent of how requests arrive. */
export interface ServerApi {
  readonly store: Store
  /** Maximum size of a request body, in bytes. */
  readonly maxBody: number
  /** Checks the host and the origin of a request. Throws `HostRefused` or `OriginRefused`. */
  readonly checkOrigin: (asked: RequestHead) => void
  /** Returns the identity of the caller of an operation. Throws `Unauthorized`, `Forbidden` or `ReadOnly`. */
  readonly permitted: (asked: RequestHead, operation: Pick<Route, 'scope' | 'method'>) => Identity
  /** Reports whether the caller still has access. Used for streams, which may outlive the validity of a token. */
  readonly mayStill: (asked: RequestHead, scope: AccessScope) => boolean
  /** Formats the access of a caller for a response header, so that a page knows it without another request. */
  readonly accessOf: (identity: Identity) => string
  readonly carryOut: (
    route: Route,
    asked: RequestHead,
    given: RequestInput,
    identity: Identity,
  ) => Promise<RouteResponse>
  /** Makes the HTTP response for an error. */
  readonly problem: (error: unknown, headers?: Readonly<Record<string, string>>) => HttpResponse
  /** Counts an answered request and reports it to `onRequest`. */
  readonly served: (request: ServedRequest) => void
  /** Starts a session for a token and returns the value of the session cookie. Throws `Unauthorized`. */
  readonly beginSession: (token: string) => string
  readonly counts: ReturnType<typeof metrics>
}

const everybody: Identity = { actor: { kind: 'user' }, by: 'user', scopes }
export const cookie = 'palimpsest'
const largestBody = 64 * 1024 * 1024
const noFields = z.strictObject({})

export const api = (settings: ServerSettings): ServerApi => {
  const { authenticate, hosts = [], isReadOnly = false, maxBody = largestBody } = settings
  const {
    onRequest,
    onFault,
    pageFile,
    heartbeat,
    unservedAfter,
    ending = new AbortController().signal,
  } = settings
  const store = withKnownChats(settings.store)
  const book = commandBook()
  const relay = settings.relay ?? newRelay()
  const roster = rosterOf(store, ending)
  const session = sessions()
  const counts = metrics()
  const gathered = together()
  const around = { store, book, pageFile, relay, roster, heartbeat, unservedAfter }

  const identityOf = (asked: RequestHead): Identity | undefined => {
    if (!authenticate) return everybody
    const bearer = /^Bearer (\S+)$/.exec(asked.header('authorization') ?? '')?.[1]
    const token = bearer ?? session.tokenOf(parse(asked.header('cookie') ?? '', cookie)[cookie])
    return token === undefined ? undefined : authenticate(token)
  }

  return {
    store,
    maxBody,
    checkOrigin: guard([...loopback, ...hosts]),
    permitted: (asked, { scope, method }) => {
      const identity = identityOf(asked)
      if (!identity) throw requestError('Unauthorized', 'send a valid token: Authorization: Bearer …')
      if (!identity.scopes.includes(scope))
        throw requestError('Forbidden', `this needs a token with the scope ${scope}`, { scope })
      if (isReadOnly && method !== 'get' && scope !== 'read')
        throw requestError('ReadOnly', 'this server is read-only')
      return identity
    },
    mayStill: (asked, scope) => identityOf(asked)?.scopes.includes(scope) === true,
    accessOf: ({ scopes: allowed }) => `${allowed.join(' ')}${isReadOnly ? '; read-only' : ''}`,
    carryOut: async (route, asked, given, identity) => {
      const { params, query, body } = route
      const call = {
        ...around,
        params: params ? parseBody(params, given.params) : {},
        query: parseBody(query ?? noFields, given.query),
        body: body ? parseBody(body, jsonIn(asked.header('content-type'), await given.text())) : undefined,
        headers: { get: (name: string) => asked.header(name) ?? null },
        identity,
        // Not a getter: V8 would create a hidden class for each request, which would keep it alive until the next full collection.
        leaving: () => AbortSignal.any([given.signal(), ending]),
      }
      if (route.scope === 'write') await gathered()
      return onceDone(book, route, call, () => route.handle(call))
    },
    problem: (error, headers) => problemReply(error, onFault, headers),
    served: (request) => {
      counts.count(request)
      onRequest?.(request)
    },
    beginSession: (token) => {
      if (!authenticate?.(token)) throw requestError('Unauthorized', 'this token is not valid')
      return session.begin(token)
    },
    counts,
  }
}

/** Caches the handles of recently used conversations: making a handle takes longer than a request. */
const withKnownChats = (store: Store): Store => {
  const chats = createLruCache<Conversation>(1_000)
  return {
    ...store,
    conversation: (id) => {
      const known = chats.get(id)
      if (known) return known
      const chat = store.conversation(id)
      chats.set(id, chat)
      return chat
    },
  }
}
