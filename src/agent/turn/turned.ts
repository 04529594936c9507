import type { NewMessage } from '../../commands/command.ts'
import type { ContextTooLarge } from '../context/policy/errors.ts'
import type { CondenseError } from '../context/summary/condense.ts'
import type { Block } from '../../events/blocks.ts'
import type { Receipt } from '../../events/events.ts'
import type { WriteResult } from '../../conversation/writing/encode.ts'
import type { FailedCall, ModelError, Reply } from '../models/model.ts'
import { type Effective, isReply } from '../../projections/effective.ts'
import { isCompaction } from '../../projections/render/renderer.ts'
import type { UnknownRenderer } from '../receipts/errors.ts'
import type { ReadError, WriteError } from '../../store/errors.ts'
import type { ToolRun, WaitingCall } from './stream/turn-event.ts'
import type { NothingToAnswer, SecretMissing, TooManyCalls, TurnCancelled } from './errors.ts'
import type { TurnHeld } from './claims/errors.ts'
import type { TurnTotals } from './spending/account.ts'
import type { BudgetSpent, PriceMissing } from './spending/budget.ts'
import { isCall } from './calls/open-calls.ts'
import type { StopCause } from './steering.ts'

/** The last reply of a turn. */
export interface FinalReply {
  readonly conversation: string
  /** The position of the last reply. */
  readonly position: number
  /** The last reply, and why the model stopped. */
  readonly content: readonly Block[]
  readonly stopReason: string | null | undefined
  /** Calls that wait for an approval (`chat.approve`, `chat.deny`): the turn ended there, and the next one continues. */
  readonly waiting: readonly WaitingCall[]
  /** Calls of tools that have no function in `run`: append their results, and give another turn. */
  readonly pending: readonly WaitingCall[]
}

/** The result of a turn. What it came to is counted from the user's last message, however often `turn` was called for it. */
export interface TurnResult extends FinalReply, Omit<TurnTotals, 'replies'> {
  /**
   * Why the turn has ended: the model stopped; a step was the last one by `stopWhen`; the model was forced to call a tool (`tool_choice`),
   * and would be forced again; or calls wait for somebody (`waiting`, `pending`).
   */
  readonly ended: 'stop' | StopCause | 'waiting'
  /** How often this call of `turn` has called the model; calls for summaries not counted. */
  readonly calls: number
  /** The calls of tools, in the order in which they ended. */
  readonly tools: readonly ToolRun[]
  /** Why the context was truncated and not condensed, if it was. */
  readonly condenseFailed?: CondenseError
}

/** Why a turn ended early. */
export type TurnError = (
  | WriteError
  | ReadError
  | ModelError
  | ContextTooLarge
  | UnknownRenderer
  | NothingToAnswer
  | TooManyCalls
  | BudgetSpent
  | PriceMissing
  | SecretMissing
  | TurnCancelled
  | TurnHeld
) & {
  /** The calls that failed and are not recorded in the origin of a later reply. */
  readonly failed?: readonly FailedCall[]
}

/** Whether the model has more to say after its last reply in this turn, if there was one. */
export const goesOn = (ended: FinalReply | undefined): boolean =>
  !ended ||
  ended.stopReason === 'pause_turn' ||
  (ended.stopReason === 'tool_use' && ended.content.some(isCall))

/** Whether nothing is left to do after the last reply: it has no call, and no compaction to record. */
export const isOver = (ended: FinalReply | undefined): boolean =>
  ended !== undefined && !goesOn(ended) && !ended.content.some(isCompaction)

export const messageOf = ({ content, origin }: Reply, context: Receipt, starts?: string): NewMessage => ({
  role: 'assistant',
  content,
  origin: { ...origin, context, ...(starts !== undefined && { starts }) },
})

export const endingOf = (written: WriteResult, { content, origin }: Reply): FinalReply => ({
  conversation: written.conversation,
  position: replyIn(written),
  content,
  stopReason: origin.stopReason,
  waiting: [],
  pending: [],
})

/** The turn as it ends where nothing was asked of the model: with the last reply that is shown. */
export const turnedAt = (conversation: string, { items }: Effective): FinalReply | undefined => {
  const reply = items.findLast(isReply)
  return (
    reply && {
      conversation,
      position: reply.position,
      content: reply.content,
      stopReason: reply.origin?.stopReason,
      waiting: [],
      pending: [],
    }
  )
}

/** The position of a reply: a rewind may come before it in the same write, and what was held back after it. */
export const replyIn = ({ events, position }: WriteResult): number =>
  events.find(({ type }) => type === 'MessageAppended')?.position ?? position
