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
  /** The input, if the tool's schema has produced it. */
  readonly checked?: unknown
}

export interface ToolContext {
  /** The id of the call. */
  readonly id: string
  readonly name: string
  /**
   * Key of this call, the same for each attempt and different for every other call: an idempotent tool passes it to the service it
   * calls.
   */
  readonly key: string
  /** Largest result, in bytes, that is shown to the model whole. */
  readonly maxResult: number
  /** Aborts with the turn, and when the tool's time limit expires. */
  readonly signal: AbortSignal
  /** Reports the progress of the call to listeners (`onEvent`). Not recorded, and not shown to the model. */
  readonly progress: (text: string) => void
  /** The input, if the tool's schema has produced it. */
  readonly checked?: unknown
}

/**
 * External effect of a call: `none`; `idempotent` if carrying it out twice has the same effect as once; `unsafe` if it must not be
 * carried out twice.
 */
export type ToolEffect = 'none' | 'idempotent' | 'unsafe'

// Methods, so that a tool may declare the input that its schema promises.
interface Methods {
  run(input: unknown, context: ToolContext): unknown
  approve(call: ToolCall): boolean | Promise<boolean>
}
/**
 * Carries out a call. Returns, or promises, a text or blocks for the model, the result of an MCP client's `callTool`, any other value
 * (JSON for the model), or nothing. A thrown error becomes an error result for the model.
 */
export type ToolFunction = Methods['run']

/** A tool's function with its settings. */
export interface ToolSettings extends Pick<Methods, 'run'> {
  /** Effect of a call. Default `unsafe`. A tool with another effect is run again if the process ended during a call. */
  readonly effect?: ToolEffect | undefined
  /** Shorthand for the effect `idempotent`, used if `effect` is absent. */
  readonly idempotent?: boolean | undefined
  /** Require approval of a call before it runs. Default false. */
  readonly approve?: boolean | Methods['approve'] | undefined
  /** Time limit in milliseconds. Default: the turn's `toolTimeout`. */
  readonly timeout?: number | undefined
  /** Applies the tool's schema, once: the same value is shown, approved and run. Supplied by `tool`. */
  readonly check?: ((input: unknown) => Promise<E.Either<InvalidInput, unknown>>) | undefined
}

/** The caller's tools, by name. */
export type Tools = { readonly [name: string]: ToolFunction | ToolSettings }

export const effectOf = ({ effect, idempotent }: ToolSettings): ToolEffect =>
  effect ?? (idempotent ? 'idempotent' : 'unsafe')

/** Reports whether a call needs approval. Rejects with the error thrown by the caller's function. */
export const needsApproval = async ({ approve = false }: ToolSettings, call: ToolCall): Promise<boolean> =>
  typeof approve === 'function' ? approve(call) : approve

const isFunction = (value: unknown): boolean => typeof value === 'function'

export const milliseconds = z.int().min(1).max(longestTimer)

/** Fields of a tool's settings, for use in schemas. */
export const settingsShape = {
  run: z.custom(isFunction, { error: 'must be the function that carries out a call' }),
  effect: z.enum(['none', 'idempotent', 'unsafe']).optional(),
  idempotent: z.boolean().optional(),
  approve: z
    .union([z.boolean(), z.custom(isFunction)], { error: 'must be true, false, or a function of the call' })
    .optional(),
  timeout: milliseconds.optional(),
}
