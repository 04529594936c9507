import type { z } from 'zod'
import type { Roster, Store } from '../index.ts'
import type { Actor } from '../events/events.ts'
import type { HeaderFields } from './request-input.ts'
import type { CommandBook } from './preconditions.ts'
import type { Tag } from './problem.ts'
import type { EventRelay } from './relay.ts'

// An operation of the API as data. The router, the OpenAPI document and the tests read the same.

/** Scopes of a token. */
export const scopes = ['read', 'write', 'audit', 'erase'] as const
export type AccessScope = (typeof scopes)[number]

/** Identity of a caller. */
export interface Identity {
  readonly actor: Actor
  /** Name recorded in the log for decisions and cancellations. */
  readonly by: string
  readonly scopes: readonly AccessScope[]
}

type Fields = z.ZodObject
/** Checked input of an operation, and its context. */
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
  /** Returns the current roster. */
  readonly roster: () => Promise<Roster>
  /** Interval of the heartbeat on a silent stream, in milliseconds. */
  readonly heartbeat: number | undefined
  /**
   * Returns a signal that aborts when the caller leaves or the server ends. Made on demand: most operations need none, and it requires
   * a web request.
   */
  readonly leaving: () => AbortSignal
}

/** JSON response of an operation. */
export interface JsonResponse {
  /** HTTP status. Default 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Body that matches the schema of the status; the tests check each. */
  readonly body: object
}

/** Unmodified content with an ETag, which supports range requests. */
export interface ByteResponse {
  readonly headers: Readonly<Record<string, string>> & { readonly etag: string }
  readonly type: string
  readonly bytes: Uint8Array
}

/** Content of any length, streamed. */
export interface Flow {
  readonly headers: Readonly<Record<string, string>>
  readonly type: string
  readonly flow: AsyncGenerator<Uint8Array | string, void>
}

/** Texts of an event stream. */
export type SseStream = AsyncGenerator<string, void>

export type RouteResponse = JsonResponse | ByteResponse | Flow | SseStream

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
  /** Schema of the response, by status. */
  readonly answers: Readonly<Record<number, z.ZodType>>
  /** Other media types of the response, chosen by what the caller accepts. */
  readonly media?: readonly string[]
  /** True if the operation supports `Range`: its responses are `ByteResponse`s. */
  readonly isRanged?: true
  /**
   * Set if the operation takes a `commandId` or `Idempotency-Key`; a repeat either finds the result in the log, or gets the response
   * kept by the server.
   */
  readonly repeats?: 'found' | 'kept'
  /** Typed errors of the operation, besides those of every request. */
  readonly errors?: readonly Tag[]
  // A method, so that routes of all types are in one list.
  handle(call: RequestContext<P, Q, B>): Promise<RouteResponse>
}

/** Answer of `GET /session`: the caller, and the permitted operations. */
export interface SessionResponse {
  readonly by: string
  readonly scopes: readonly AccessScope[]
  readonly isReadOnly: boolean
  /** URL of the store, without credentials. */
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

/** Makes a route with types inferred from its schemas. */
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
