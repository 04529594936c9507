import { freeze } from '../../events/freeze.ts'
import { isBlock } from '../../events/blocks.ts'
import { isFields } from '../../events/json.ts'
import { configurationOf, type Effective, isReply, messagesOf } from '../../projections/effective.ts'
import type { TurnTotals } from './spending/account.ts'
import { isCall } from './calls/open-calls.ts'
import type { ResolvedTurnOptions } from './options.ts'
import type { TurnStep } from './turn-step.ts'
import { usageIn } from './spending/usage.ts'

/** Reason why a turn ended although its model may not have finished. */
export type StopCause = 'stop-when' | 'tool-choice'

/** Checks that end a turn after a complete step: `stopWhen`, and a `tool_choice` that forces calls. */
export interface StopConditions {
  /** Begins the turn. Calls that are already open are taken to have been made under the current configuration. */
  readonly begin: (now: Effective) => void
  /**
   * Registers the step of the reply at `position` for examination, because the reply has just been recorded or because this turn
   * answers its calls. `asked` is the history that the reply answers.
   */
  readonly stepIn: (position: number, asked?: Effective) => void
  /** Reports whether a step is waiting to be examined. */
  readonly isWaiting: () => boolean
  /**
   * Examines the pending step, if any; its results must be in the history. Returns the reason to end the turn, if any. Rejects with any
   * error thrown by the caller's functions, unchanged.
   */
  readonly look: (now: Effective) => Promise<StopCause | undefined>
}

export const createStopCondition = (
  { stopWhen, onStep }: ResolvedTurnOptions,
  account: () => TurnTotals,
): StopConditions => {
  let isForced = false
  let step: { readonly position: number; readonly isForced: boolean } | undefined

  const stops = async (taken: TurnStep): Promise<boolean> => {
    if (typeof stopWhen === 'function') return stopWhen(taken)
    return taken.calls.some(({ name }) => stopWhen?.includes(name))
  }

  return {
    begin: (now) => {
      isForced = forcesCall(now)
    },
    stepIn: (position, asked) => {
      const forced = asked ? forcesCall(asked) : isForced
      if (step?.position !== position && (forced || stopWhen || onStep)) step = { position, isForced: forced }
    },
    isWaiting: () => step !== undefined,
    look: async (now) => {
      const taken = step && stepAt(step.position, now, account())
      const forced = step?.isForced === true && taken !== undefined && taken.calls.length > 0
      step = undefined
      if (!taken) return undefined
      await onStep?.(taken)
      if (await stops(taken)) return 'stop-when'
      return forced ? 'tool-choice' : undefined
    },
  }
}

const forcesCall = (now: Effective): boolean => {
  const { tool_choice: choice } = configurationOf(now).parameters ?? {}
  return isFields(choice) && (choice['type'] === 'any' || choice['type'] === 'tool')
}

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
  const shown = items
    .slice(at + 1)
    .flatMap(messagesOf)
    .flatMap((message) => message.content)
  const results = calls.flatMap(({ id }) =>
    shown
      .filter((block) => isBlock(block, 'tool_result'))
      .filter((block) => block.tool_use_id === id)
      .slice(0, 1),
  )
  const step = { number: replies, reply: { position, content, stopReason, model }, calls, results }
  return freeze({ ...step, usage: usageIn(usage), total })
}
