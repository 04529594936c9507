import type { z } from 'zod'
import type { Roster, Store } from '../index.ts'
import type { Actor } from '../events/events.ts'
import type { HeaderFields } from './request-input.ts'
import type { CommandBook } from './preconditions.ts'
import type { Tag } from './problem.ts'
import type { EventRelay } from './relay.ts'

// Operations of the API as data, shared by the router, the OpenAPI document and the tests.

/** Scopes that a token may have. */
export const scopes = ['read', 'write', 'audit', 'erase'] as const
export type AccessScope = (typeof scopes)[number]

export interface Identity {
  readonly actor: Actor
  /** Name recorded in the log as the author of decisions and cancellations. */
  readonly by: string
  readonly scopes: readonly AccessScope[]
}

type Fields = z.ZodObject
/** Validated input of an operation, and its context. */
export interface RequestContext<P extends Fields, Q extends Fields, B extends z.ZodType> {
  readonly params: z.infer<P>
  readonly query: z.infer<Q>
  readonly body: z.infer<B>
  readonly headers: HeaderFields
  readonly identity: Identity
  readonly store: Store
  readonly book: CommandBook
  /** Folder of the built page, for exports. Default: the folder in the package. */
  readonly pageFile: URL | undefined
  readonly relay: EventRelay
  readonly roster: () => Promise<Roster>
  /** Interval of the heartbeat on an idle stream, in milliseconds. */
  readonly heartbeat: number | undefined
  /** Time after which a requested turn's stream ends if no worker serves the store, in milliseconds. */
  readonly unservedAfter: number | undefined
  /**
   * Returns a signal that aborts when the caller disconnects or the server ends. The signal is made on demand, because it requires a
   * web request and most operations do not use it.
   */
  readonly leaving: () => AbortSignal
}

export interface JsonResponse {
  /** HTTP status of the response. Default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** True if the response gets a strong ETag, made from its body. */
  readonly isTagged?: true
  /** Body of the response, matching the route's schema for the status. The tests check that for every route. */
  readonly body: object
}

/** Unmodified content as bytes, with an ETag and support for range requests. */
export interface ByteResponse {
  readonly headers: Readonly<Record<string, string>> & { readonly etag: string }
  readonly type: string
  readonly bytes: Uint8Array
}

/** Streamed content of any length. */
export interface Flow {
  readonly headers: Readonly<Record<string, string>>
  readonly type: string
  readonly flow: AsyncGenerator<Uint8Array | string, void>
}

/** Text chunks of an event stream. */
export type SseStream = AsyncGenerator<string, void>

export type RouteResponse = JsonResponse | ByteResponse | Flow | SseStream

/** Headers that only some operations send. */
export type SentHeader =
  | 'ETag'
  | 'Link'
  | 'Location'
  | 'Content-Disposition'
  | 'Palimpsest-Export'
  | 'Palimpsest-Evidence'
  | 'Palimpsest-Receipt'
  | 'Palimpsest-Digest'
  | 'Palimpsest-Difference'
  | 'Palimpsest-Betas'

export interface Route<
  P extends Fields = Fields,
  Q extends Fields = Fields,
  B extends z.ZodType = z.ZodType,
> {
  readonly method: 'get' | 'post'
  /** Path with parameters in braces. */
  readonly path: string
  /** Name of the operation in the OpenAPI document. */
  readonly name: string
  readonly summary: string
  /** Scope that a token needs. */
  readonly scope: AccessScope
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** Schemas of the response body, by HTTP status. */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** Further media types of the response, selected by the `Accept` header. */
  readonly media?: readonly string[]
  /** True if the operation supports `Range`. Its responses must be of type `ByteResponse`. */
  readonly isRanged?: true
  /**
   * Way in which the server recognizes a repeated `commandId` or `Idempotency-Key`. `found`: a repeat finds the result in the log;
   * `kept`: a repeat gets the response that the server has kept; absent: the operation has no command id, or checks it itself.
   */
  readonly repeats?: 'found' | 'kept'
  /** Request headers that the operation reads, besides `Idempotency-Key`. */
  readonly headers?: readonly ('If-Match' | 'Last-Event-ID')[]
  /** Headers of the response besides those of every response of its kind (`ETag` of what is read, `Content-Range` of a range). */
  readonly sends?: readonly SentHeader[]
  /** Schema of a message, if the operation streams events. */
  readonly message?: z.ZodType
  /** Tags of errors that the operation may cause, in addition to those of every request. */
  readonly errors?: readonly Tag[]
  // A method, because its parameters are checked bivariantly, so that one list can hold routes of all types.
  handle(call: RequestContext<P, Q, B>): Promise<RouteResponse>
}

/** Response of `GET /session`: the caller and its access. */
export interface SessionResponse {
  readonly by: string
  readonly scopes: readonly AccessScope[]
  readonly isReadOnly: boolean
  /** URL of the store, without credentials. */
  readonly store: string
}

/** A route with the types that clients need: method and path as literals, and the schemas of query, body and response. */
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

/** Returns the given route with types inferred from its schemas. */
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
