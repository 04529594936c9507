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
import type { StopCause } from './turn-step.ts'

/** Open calls of a reply for which the turn can do nothing more at present. */
export interface RemainingCalls {
  /** Calls that wait for approval (`chat.approve`, `chat.deny`). The turn ended because of them, and the next turn continues there. */
  readonly waiting: readonly WaitingCall[]
  /** Calls of tools that have no function in `run`: append their results, then run another turn. */
  readonly pending: readonly WaitingCall[]
}

/** The last reply of a turn, with the calls that are still open. */
export interface FinalReply extends RemainingCalls {
  readonly conversation: string
  /** Position of the last reply. */
  readonly position: number
  /** Content of the last reply. */
  readonly content: readonly Block[]
  readonly stopReason: string | null | undefined
}

/** Result of a turn. Its totals cover all calls of `turn` since the user's last message. */
export interface TurnResult extends FinalReply, Omit<TurnTotals, 'replies'> {
  /**
   * Reason why the turn ended. `stop`: the model stopped. `stop-when`: `stopWhen` applied to the last step. `tool-choice`: the model
   * was forced to call a tool, and would be forced again. `waiting`: calls wait for approval (`waiting`) or for results (`pending`).
   */
  readonly ended: 'stop' | StopCause | 'waiting'
  /** Number of model calls made by this call of `turn`, excluding those for summaries. */
  readonly calls: number
  /** Tool calls, in the order in which they ended. */
  readonly tools: readonly ToolRun[]
  /** Reason why the context was truncated instead of condensed, if it was truncated. */
  readonly condenseFailed?: CondenseError
}

/** Error with which a turn ended early. */
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
  /** Failed calls that are not recorded in the origin of a later reply. */
  readonly failed?: readonly FailedCall[]
}

/** Reports whether the model has more to say after its last reply in this turn, or has not replied yet. */
export const goesOn = (ended: FinalReply | undefined): boolean =>
  !ended ||
  ended.stopReason === 'pause_turn' ||
  (ended.stopReason === 'tool_use' && ended.content.some(isCall))

/** Reports whether nothing is left to do after the last reply: it contains no call and no compaction to record. */
export const isOver = (ended: FinalReply): boolean => !goesOn(ended) && !ended.content.some(isCompaction)

export const isLeftWaiting = ({ waiting, pending }: RemainingCalls): boolean =>
  waiting.length + pending.length > 0

export const messageOf = ({ content, origin }: Reply, context: Receipt, starts?: string): NewMessage => ({
  role: 'assistant',
  content,
  origin: { ...origin, context, ...(starts !== undefined && { starts }) },
})

export const finalReplyOf = (
  conversation: string,
  position: number,
  { content, origin }: Pick<Reply, 'content'> & Partial<Reply>,
): FinalReply => ({
  conversation,
  position,
  content,
  stopReason: origin?.stopReason,
  waiting: [],
  pending: [],
})

/** Returns the last reply in the history as the final reply of a turn that did not call the model, if there is one. */
export const finalReplyAt = (conversation: string, { items }: Effective): FinalReply | undefined => {
  const reply = items.findLast(isReply)
  return reply && finalReplyOf(conversation, reply.position, reply)
}

/** Returns the position of the reply in a write, which may also contain a rewind before it and deferred messages after it. */
export const replyIn = ({ events, position }: WriteResult): number =>
  events.find(({ type }) => type === 'MessageAppended')?.position ?? position
