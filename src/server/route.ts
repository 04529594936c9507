import type { z } from 'zod'
import type { Roster, Store } from '../index.ts'
import type { Actor } from '../events/events.ts'
import type { HeaderFields } from './asked.ts'
import type { CommandBook } from './preconditions.ts'
import type { Tag } from './problem.ts'
import type { EventRelay } from './relay.ts'

// An operation of the API as data. The router, the OpenAPI document and the tests read the same.

/** What a token may do. */
export const scopes = ['read', 'write', 'audit', 'erase'] as const
export type AccessScope = (typeof scopes)[number]

/** Who calls. */
export interface Identity {
  readonly actor: Actor
  /** Who decides or cancels, in the log's words. */
  readonly by: string
  readonly scopes: readonly AccessScope[]
}

type Fields = z.ZodObject
/** What an operation is called with, checked. */
export interface RequestContext<P extends Fields, Q extends Fields, B extends z.ZodType> {
  readonly params: z.infer<P>
  readonly query: z.infer<Q>
  readonly body: z.infer<B>
  readonly headers: HeaderFields
  readonly identity: Identity
  readonly store: Store
  readonly book: CommandBook
  /** The folder of the page for exports. Default: the package's own. */
  readonly pageFile: URL | undefined
  readonly relay: EventRelay
  /** Who works on what now. */
  readonly roster: () => Promise<Roster>
  /** How often a silent stream shows that it lives, in milliseconds. */
  readonly heartbeat: number | undefined
  /** Aborts when the caller goes away, or the server ends. Most need none, and it takes a request of the web's. */
  readonly leaving: () => AbortSignal
}

/** What an operation answers. */
export interface JsonResponse {
  /** Default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** As the schema of the status says: the tests check each. */
  readonly body: object
}

/** Content as it is, with an ETag: a part of it can be asked for. */
export interface ByteResponse {
  readonly headers: Readonly<Record<string, string>> & { readonly etag: string }
  readonly type: string
  readonly bytes: Uint8Array
}

/** Content of any length, as it comes. */
export interface Flow {
  readonly headers: Readonly<Record<string, string>>
  readonly type: string
  readonly flow: AsyncGenerator<Uint8Array | string, void>
}

/** The texts of an event stream, as they come. */
export type SseStream = AsyncGenerator<string, void>

export type RouteResponse = JsonResponse | ByteResponse | Flow | SseStream

export interface Route<
  P extends Fields = Fields,
  Q extends Fields = Fields,
  B extends z.ZodType = z.ZodType,
> {
  readonly method: 'get' | 'post'
  /** With parameters in braces. */
  readonly path: string
  /** Names the operation in the document. */
  readonly name: string
  readonly summary: string
  /** What a token needs. */
  readonly scope: AccessScope
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** The JSON of the answer, by status. */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** Other types that it may answer with, by what the caller accepts. */
  readonly media?: readonly string[]
  /** It takes `Range`: its answers are `ByteResponse`. */
  readonly isRanged?: true
  /** It takes a `commandId` or `Idempotency-Key`: a repeat finds in the log what was done, or the answer is kept by the server. */
  readonly repeats?: 'found' | 'kept'
  /** Typed errors that it may be refused with, besides those of every request. */
  readonly errors?: readonly Tag[]
  // A method, so that routes of all types are in one list.
  handle(call: RequestContext<P, Q, B>): Promise<RouteResponse>
}

/** Of `GET /session`: who calls, and what may be done here. */
export interface SessionResponse {
  readonly by: string
  readonly scopes: readonly AccessScope[]
  readonly isReadOnly: boolean
  /** The URL of the store, without credentials. */
  readonly store: string
}

/** A route that clients know by its method and path, and what it takes and answers by its schemas. */
type Known<M, T, Q extends Fields, B extends z.ZodType, A> = Omit<
  Route,
  'method' | 'path' | 'query' | 'body' | 'answers'
> & {
  readonly method: M
  readonly path: T
  readonly query?: Q
  readonly body?: B
  readonly answers: A
}

/** A route, its types inferred from its schemas. */
export const route = <
  P extends Fields,
  Q extends Fields,
  B extends z.ZodType,
  const M extends Route['method'],
  const T extends string,
  A extends Route['answers'],
>(
  given: Route<P, Q, B> & { readonly method: M; readonly path: T; readonly answers: A },
): Known<M, T, Q, B, A> => given
