import type * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import type { InvalidInput } from '../../events/errors.ts'
import { longestTimer } from '../../result/timers.ts'

/** A call that the model makes. */
export interface ToolCall<Input = unknown> {
  /** The id of the call. */
  readonly id: string
  readonly name: string
  readonly input: Input
  /** Is `input` if the tool's schema has made it. */
  readonly checked?: unknown
}

export interface ToolContext {
  /** The id of the call. */
  readonly id: string
  readonly name: string
  /** The same for each attempt at this call, and for no other call: what an idempotent tool tells whoever it calls. */
  readonly key: string
  /** A result of up to this many bytes is shown to the model whole. */
  readonly maxResult: number
  /** Aborts with the turn, and when the tool's time is up. */
  readonly signal: AbortSignal
  /** Tells whoever follows the turn how far the call is (`onEvent`). Not recorded, and the model does not see it. */
  readonly progress: (text: string) => void
  /** Is the input if the tool's schema has made it. */
  readonly checked?: unknown
}

/**
 * What a call does to the world: nothing (`none`); the same if it is carried out twice (`idempotent`); or something that must not be done
 * twice (`unsafe`).
 */
export type ToolEffect = 'none' | 'idempotent' | 'unsafe'

// Methods, so that a tool may declare the input that its schema promises.
interface Methods {
  run(input: unknown, context: ToolContext): unknown
  approve(call: ToolCall): boolean | Promise<boolean>
}
/**
 * Carries out a call. Returns, or promises, a text or blocks for the model, the result of an MCP client's `callTool`, any other value
 * (JSON for the model), or nothing. What it throws goes to the model as an error result.
 */
export type ToolFunction = Methods['run']

/** A tool with settings. */
export interface ToolSettings extends Pick<Methods, 'run'> {
  /** Default `unsafe`. A tool with another effect is run again if the process ended in a call. */
  readonly effect?: ToolEffect | undefined
  /** Short for the effect `idempotent`, if none is given. */
  readonly idempotent?: boolean | undefined
  /** Whether somebody has to approve a call before it runs. Default false. */
  readonly approve?: boolean | Methods['approve'] | undefined
  /** Milliseconds. Default: the turn's `toolTimeout`. */
  readonly timeout?: number | undefined
  /** Applies the tool's schema, once: the same value is shown, approved and run. `tool` gives it. */
  readonly check?: ((input: unknown) => Promise<E.Either<InvalidInput, unknown>>) | undefined
}

/** The caller's tools, by name. */
export type Tools = { readonly [name: string]: ToolFunction | ToolSettings }

export const effectOf = ({ effect, idempotent }: ToolSettings): ToolEffect =>
  effect ?? (idempotent ? 'idempotent' : 'unsafe')

/** Whether somebody has to approve a call. Rejects with what a function of the caller throws. */
export const needsApproval = async ({ approve = false }: ToolSettings, call: ToolCall): Promise<boolean> =>
  typeof approve === 'function' ? approve(call) : approve

const isFunction = (value: unknown): boolean => typeof value === 'function'

export const milliseconds = z.int().min(1).max(longestTimer)

/** The fields of a tool's settings, for schemas. */
export const settingsShape = {
  run: z.custom(isFunction, { error: 'is the function that carries out a call' }),
  effect: z.enum(['none', 'idempotent', 'unsafe']).optional(),
  idempotent: z.boolean().optional(),
  approve: z
    .union([z.boolean(), z.custom(isFunction)], { error: 'is true, false, or a function of the call' })
    .optional(),
  timeout: milliseconds.optional(),
}
