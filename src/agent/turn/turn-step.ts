import type { BlockInput } from '../../events/block-types.ts'
import type { Block, KnownBlock } from '../../events/blocks.ts'
import type { Effective } from '../../projections/effective.ts'
import type { TurnUsage } from './spending/account.ts'
import type { Tools } from '../tools/settings.ts'
import type { Usage } from './spending/usage.ts'

/** One model call, with the calls in its reply and their results. */
export interface TurnStep {
  /** Number of the step, from 1, since the user's last message, in any process. */
  readonly number: number
  readonly reply: {
    readonly position: number
    readonly content: readonly Block[]
    readonly stopReason: string | null | undefined
    readonly model: string | undefined
  }
  /** The tool calls in the reply, and their results as shown to the model, in the same order. */
  readonly calls: readonly KnownBlock<'tool_use'>[]
  readonly results: readonly KnownBlock<'tool_result'>[]
  /** Usage of the reply. */
  readonly usage: Usage
  /** Usage of the turn so far. */
  readonly total: TurnUsage
}

/** The next model call. */
export interface NextStep {
  /** Number of the step, counted as `TurnStep.number`. */
  readonly step: number
  /** Effective history to show to the model. */
  readonly effective: Effective
  /** Usage of the turn so far. */
  readonly usage: TurnUsage
}

/** Settings that may differ from the turn's options for one model call. */
export interface StepSettings {
  readonly model?: string | undefined
  readonly system?: string | readonly BlockInput[] | undefined
  readonly tools?: readonly object[] | undefined
  readonly run?: Tools | undefined
  readonly parameters?: { readonly [name: string]: unknown } | undefined
}

/** Condition that ends a turn early: names of tools, or a function that reports whether a step was the last. */
export type StopWhen = readonly string[] | ((step: TurnStep) => boolean | Promise<boolean>)

export interface StepOptions {
  /** Ends the turn after a step with a call of one of these tools, or one for which the function returns true. */
  readonly stopWhen?: StopWhen | undefined
  /** Called before each model call: the fields it returns override the options of the same names for that call. */
  readonly prepareStep?:
    | ((next: NextStep) => StepSettings | undefined | Promise<StepSettings | undefined>)
    | undefined
  /** Called after each step, when all of it is recorded. */
  readonly onStep?: ((step: TurnStep) => void | Promise<void>) | undefined
}
