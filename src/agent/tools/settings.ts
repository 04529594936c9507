import type * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import type { InvalidInput } from '../../events/errors.ts'
import { longestTimer } from '../../result/timers.ts'

/** A tool call by the model. */
export interface ToolCall<Input = unknown> {
  /** The id of the call. */
  readonly id: string
  readonly name: string
  readonly input: Input
  /** Output of the tool's schema for the input, if the schema has already been applied. */
  readonly checked?: unknown
}

export interface ToolContext {
  /** The id of the call. */
  readonly id: string
  readonly name: string
  /**
   * Key of this call: the same for each attempt, and different for every other call. An idempotent tool passes the key to the service
   * that it calls.
   */
  readonly key: string
  /** Maximum size, in bytes, of a result that is shown to the model in full. */
  readonly maxResult: number
  /** Signal that aborts when the turn is aborted or the tool's time limit expires. */
  readonly signal: AbortSignal
  /** Reports the progress of the call to listeners (`onEvent`). The text is not recorded, and not shown to the model. */
  readonly progress: (text: string) => void
  /** Output of the tool's schema for the input, if the schema has already been applied. */
  readonly checked?: unknown
}

/**
 * External effect of a call: `none`; `idempotent` if running the call twice has the same effect as once; `unsafe` if the call must not
 * run twice.
 */
export type ToolEffect = 'none' | 'idempotent' | 'unsafe'

// Declared as methods, whose parameters are bivariant, so that a tool may declare the input type of its schema.
interface Methods {
  run(input: unknown, context: ToolContext): unknown
  approve(call: ToolCall): boolean | Promise<boolean>
}
/**
 * Function that carries out a call. It returns, or promises, a text or blocks for the model, the result of an MCP client's `callTool`,
 * any other value (sent to the model as JSON), or nothing. A thrown error becomes an error result for the model.
 */
export type ToolFunction = Methods['run']

/** A tool's function with its settings. */
export interface ToolSettings extends Pick<Methods, 'run'> {
  /**
   * External effect of a call. Default `unsafe`. If the process ends during a call, the tool is run again unless its effect is
   * `unsafe`.
   */
  readonly effect?: ToolEffect | undefined
  /** True as shorthand for the effect `idempotent`; ignored if `effect` is present. */
  readonly idempotent?: boolean | undefined
  /** True, or a function that returns true, to require approval of a call before it runs. Default false. */
  readonly approve?: boolean | Methods['approve'] | undefined
  /** Time limit in milliseconds. Default: the turn's `toolTimeout`. */
  readonly timeout?: number | undefined
  /**
   * Applies the tool's schema to an input. It is applied only once, so that the same value is shown, approved and run. Supplied by
   * `tool`.
   */
  readonly check?: ((input: unknown) => Promise<E.Either<InvalidInput, unknown>>) | undefined
}

/** Functions and settings of the caller's tools, by tool name. */
export type Tools = { readonly [name: string]: ToolFunction | ToolSettings }

export const effectOf = ({ effect, idempotent }: ToolSettings): ToolEffect =>
  effect ?? (idempotent ? 'idempotent' : 'unsafe')

/** Reports whether a call needs approval. Rejects with the error thrown by the caller's function. */
export const needsApproval = async ({ approve = false }: ToolSettings, call: ToolCall): Promise<boolean> =>
  typeof approve === 'function' ? approve(call) : approve

const isFunction = (value: unknown): boolean => typeof value === 'function'

export const milliseconds = z.int().min(1).max(longestTimer)

/** Schemas for the fields of a tool's settings, for use in other schemas. */
export const settingsShape = {
  run: z.custom(isFunction, { error: 'must be the function that carries out a call' }),
  effect: z.enum(['none', 'idempotent', 'unsafe']).optional(),
  idempotent: z.boolean().optional(),
  approve: z
    .union([z.boolean(), z.custom(isFunction)], { error: 'must be true, false, or a function of the call' })
    .optional(),
  timeout: milliseconds.optional(),
}
