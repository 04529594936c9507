import type { z } from 'zod'
import type * as audit from '../routes/audit.ts'
import type * as bisections from '../routes/bisections.ts'
import type * as calls from '../routes/calls.ts'
import type * as commands from '../routes/commands.ts'
import type * as conversations from '../routes/conversations.ts'
import type * as investigate from '../routes/investigate.ts'
import type * as diffs from '../routes/diffs.ts'
import type * as events from '../routes/events.ts'
import type * as lookups from '../routes/lookups.ts'
import type * as reads from '../routes/reads.ts'
import type * as turns from '../routes/turns.ts'
import type * as workers from '../routes/workers.ts'

// What may be asked of a server, as its routes say: nothing is described twice, and nothing of the server is loaded.

type In<Group> = Group[keyof Group]
type Route =
  | In<typeof audit>
  | In<typeof bisections>
  | In<typeof calls>
  | In<typeof commands>
  | In<typeof conversations>
  | In<typeof investigate>
  | In<typeof diffs>
  | In<typeof events>
  | In<typeof lookups>
  | In<typeof reads>
  | In<typeof turns>
  | In<typeof workers>
type At<M extends string, T> = Extract<Route, { readonly method: M; readonly path: T }>

/** The path of a route, with its parameters in braces. */
export type PathOf<M extends 'get' | 'post'> = Extract<Route, { readonly method: M }>['path']

type Output<S> = S extends z.ZodType ? z.output<S> : never
/** The query of a read. What is undefined is left out. */
export type QueryOf<T> = {
  readonly [F in keyof Output<At<'get', T>['query']>]?: Output<At<'get', T>['query']>[F] | undefined
}
/** The body of a write. */
export type BodyOf<T> = At<'post', T>['body'] extends infer B
  ? B extends z.ZodType
    ? z.input<B>
    : never
  : never
