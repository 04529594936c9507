import type { BlockInput } from '../../events/block-types.ts'
import type { Block, KnownBlock } from '../../events/blocks.ts'
import type { Effective } from '../../projections/effective.ts'
import type { TurnUsage } from './spending/account.ts'
import type { Tools } from '../tools/settings.ts'
import type { Usage } from './spending/usage.ts'

/** One call of the model, with what its calls led to. */
export interface TurnStep {
  /** Counted from 1, from the user's last message on, whoever gave the turn. */
  readonly number: number
  readonly reply: {
    readonly position: number
    readonly content: readonly Block[]
    readonly stopReason: string | null | undefined
    readonly model: string | undefined
  }
  /** The calls of tools in the reply, and their results as the model is shown them, in the same order. */
  readonly calls: readonly KnownBlock<'tool_use'>[]
  readonly results: readonly KnownBlock<'tool_result'>[]
  /** Of the reply. */
  readonly usage: Usage
  /** Of the turn so far. */
  readonly total: TurnUsage
}

/** A call of the model that is to come. */
export interface NextStep {
  /** Its number, counted as `TurnStep.number`. */
  readonly step: number
  /** What the model would be shown. */
  readonly effective: Effective
  /** What the turn came to so far. */
  readonly usage: TurnUsage
}

/** What may differ from the options of the turn in one call of the model. */
export interface StepSettings {
  readonly model?: string | undefined
  readonly system?: string | readonly BlockInput[] | undefined
  readonly tools?: readonly object[] | undefined
  readonly run?: Tools | undefined
  readonly parameters?: { readonly [name: string]: unknown } | undefined
}

/** Ends a turn early: names of tools, or whether a step was the last one. */
export type StopWhen = readonly string[] | ((step: TurnStep) => boolean | Promise<boolean>)

export interface StepOptions {
  /** Ends the turn after a step with a call of one of these tools, or one for which the function returns true. */
  readonly stopWhen?: StopWhen | undefined
  /** Called before each call of the model: what it returns takes the place of the options of the same names for that call. */
  readonly prepareStep?:
    | ((next: NextStep) => StepSettings | undefined | Promise<StepSettings | undefined>)
    | undefined
  /** Called after each step, when all of it is recorded. */
  readonly onStep?: ((step: TurnStep) => void | Promise<void>) | undefined
}
