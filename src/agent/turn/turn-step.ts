import { type Block, isBlock, type KnownBlock } from '../../events/blocks.ts'
import { freeze } from '../../events/freeze.ts'
import { type Effective, isReply, messagesOf } from '../../projections/effective.ts'
import { isCall } from './calls/open-calls.ts'
import type { TurnTotals, TurnUsage } from './spending/account.ts'
import { type Usage, usageIn } from '../models/usage.ts'

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

/** Condition that ends a turn early: names of tools, or a function that reports whether a step was the last. */
export type StopWhen = readonly string[] | ((step: TurnStep) => boolean | Promise<boolean>)

/** Reason why a turn ended although its model may not have finished. */
export type StopCause = 'stop-when' | 'tool-choice'

/** Returns the step of a reply; undefined if the reply is no longer shown. */
export const stepAt = (
  position: number,
  { items }: Effective,
  { replies, usage: total }: TurnTotals,
): TurnStep | undefined => {
  const at = items.findLastIndex((item) => item.position === position)
  const reply = items[at]
  if (!isReply(reply)) return undefined
  const { content, origin: { stopReason, model, usage } = {} } = reply
  const calls = content.filter(isCall)
  const later = items.slice(at + 1).flatMap(messagesOf)
  const shown = later.flatMap((message) => message.content).filter((block) => isBlock(block, 'tool_result'))
  const results = calls.flatMap(({ id }) => shown.find((block) => block.tool_use_id === id) ?? [])
  const step = { number: replies, reply: { position, content, stopReason, model }, calls, results }
  return freeze({ ...step, usage: usageIn(usage), total })
}
