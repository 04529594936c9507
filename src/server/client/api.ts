import type { z } from 'zod'
import type { Block } from '../../events/block-types.ts'
import type { ConversationEvent } from '../../events/events.ts'
import type { SessionResponse } from '../route.ts'
import type * as audit from '../routes/audit.ts'
import type * as bisections from '../routes/bisections.ts'
import type * as blocks from '../routes/blocks.ts'
import type * as calls from '../routes/calls.ts'
import type * as commands from '../routes/commands.ts'
import type * as conversations from '../routes/conversations.ts'
import type * as erase from '../routes/erase.ts'
import type * as exports from '../routes/exports.ts'
import type * as investigate from '../routes/investigate.ts'
import type * as diffs from '../routes/diffs.ts'
import type * as events from '../routes/events.ts'
import type * as lookups from '../routes/lookups.ts'
import type * as reads from '../routes/reads.ts'
import type * as turns from '../routes/turns.ts'
import type * as workers from '../routes/workers.ts'

// Types of requests and responses, derived from the routes: nothing is declared twice, and no code of the server is loaded.

/** Routes that are not in the route table. A page uses them to read which access its token gives, or to exchange a token for a session. */
type SessionRoute =
  | {
      readonly method: 'get'
      readonly path: '/session'
      readonly answers: { readonly 200: z.ZodType<SessionResponse> }
    }
  | {
      readonly method: 'post'
      readonly path: '/session'
      readonly body?: z.ZodType<{ readonly token: string }, { readonly token: string }>
      readonly answers: { readonly 200: z.ZodType<object> }
    }

type In<Group> = Group[keyof Group]
type Route =
  | In<typeof audit>
  | In<typeof bisections>
  | In<typeof blocks>
  | In<typeof calls>
  | In<typeof commands>
  | In<typeof conversations>
  | In<typeof erase>
  | In<typeof exports>
  | In<typeof investigate>
  | In<typeof diffs>
  | In<typeof events>
  | In<typeof lookups>
  | In<typeof reads>
  | In<typeof turns>
  | In<typeof workers>
  | SessionRoute
type RouteAt<M extends string, T> = Extract<Route, { readonly method: M; readonly path: T }>

/** Path of a route, with its parameters in braces. */
export type PathOf<M extends 'get' | 'post' = 'get' | 'post'> = Extract<Route, { readonly method: M }>['path']

/** Parameters of a path, by name. */
export type ParamsOf<T extends string> = { readonly [N in NameIn<T>]: string | number }
type NameIn<T extends string> = T extends `${string}{${infer N}}${infer Rest}` ? N | NameIn<Rest> : never

type Output<S> = S extends z.ZodType ? z.output<S> : never
/** Query of a route. Undefined fields are omitted. */
export type QueryOf<T> = AskedOf<RouteAt<'get' | 'post', T>>
type AskedOf<R> = R extends { readonly query?: infer Q } ? Fields<Output<Q>> : never
type Fields<O> = { readonly [F in keyof O]?: Readonly<O[F]> | undefined }
/** Body of a POST request to a route. */
export type BodyOf<T> = RouteAt<'post', T> extends { readonly body?: infer B } ? Input<B> : never
type Input<S> = S extends z.ZodType ? ReadonlyInput<z.input<S>> : never
/** A request body type in which every field and list may be read-only. */
type ReadonlyInput<T> = T extends object ? { readonly [F in keyof T]: ReadonlyInput<T[F]> } : T

/** JSON response of a route. The type omits additional fields that the response may have. */
export type AnswerOf<M extends 'get' | 'post', T> =
  RouteAt<M, T> extends { readonly answers: infer A } ? DeclaredFields<Output<A[keyof A]>> : never
/**
 * A response type without the undeclared fields that a schema lets through. Content blocks and events keep all fields, as they were
 * stored.
 */
type DeclaredFields<T> = T extends Block | ConversationEvent
  ? T
  : T extends readonly unknown[]
    ? { readonly [I in keyof T]: DeclaredFields<T[I]> }
    : T extends object
      ? {
          readonly [
            F in keyof T as string extends F ? (unknown extends T[F] ? never : F) : F
          ]: DeclaredFields<T[F]>
        }
      : T
