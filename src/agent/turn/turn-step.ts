import type { BlockInput } from '../../events/block-types.ts'
import type { Block, KnownBlock } from '../../events/blocks.ts'
import type { Effective } from '../../projections/effective.ts'
import type { TurnUsage } from './spending/account.ts'
import type { Tools } from '../tools/settings.ts'
import type { Usage } from './spending/usage.ts'

/** A model call, with the tool calls in its reply and their results. */
export interface TurnStep {
  /** Number of the step, counted from 1 since the user's last message, across all processes. */
  readonly number: number
  readonly reply: {
    readonly position: number
    readonly content: readonly Block[]
    readonly stopReason: string | null | undefined
    readonly model: string | undefined
  }
  /** Tool calls in the reply. `results` contains their results as shown to the model, in the same order. */
  readonly calls: readonly KnownBlock<'tool_use'>[]
  readonly results: readonly KnownBlock<'tool_result'>[]
  /** Usage of the reply. */
  readonly usage: Usage
  /** Usage of the turn so far. */
  readonly total: TurnUsage
}

/** The model call that is about to be made. */
export interface NextStep {
  /** Number of the step, counted like `TurnStep.number`. */
  readonly step: number
  /** Effective history to show to the model. */
  readonly effective: Effective
  /** Usage of the turn so far. */
  readonly usage: TurnUsage
}

/** Settings that can override the turn's options for one model call. */
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
  /** Condition that ends the turn after a step: the step calls one of these tools, or the function returns true for it. */
  readonly stopWhen?: StopWhen | undefined
  /** Called before each model call. The fields it returns override the turn's options of the same names for that call. */
  readonly prepareStep?:
    | ((next: NextStep) => StepSettings | undefined | Promise<StepSettings | undefined>)
    | undefined
  /** Called after each step, once all events of the step are recorded. */
  readonly onStep?: ((step: TurnStep) => void | Promise<void>) | undefined
}
