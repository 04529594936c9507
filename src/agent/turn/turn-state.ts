import type { CondenseError } from '../context/summary/condense.ts'
import type { QueuedMessage } from '../../conversation/beside/inbox.ts'
import type { TurnsEnd } from '../../conversation/beside/turn-log.ts'
import type { ConversationEvent, Origin } from '../../events/events.ts'
import { isFields } from '../../events/json.ts'
import type { ContextExceeded, FailedCall, ModelAborted } from '../models/model.ts'
import { configurationOf, type Effective } from '../../projections/effective.ts'
import type { ResolvedTurnOptions } from './options.ts'
import { type AccountEntry, emptyAccount, type TurnTotals, withEntry } from './spending/account.ts'
import type { ToolRun } from './stream/turn-event.ts'
import {
  finalReplyAt,
  isLeftWaiting,
  isOver,
  type FinalReply,
  type RemainingCalls,
  type TurnError,
} from './turn-result.ts'
import type { StopCause } from './turn-step.ts'

/** Progress of one call of `turn`, kept even when another holder takes over the conversation in between. */
export interface TurnCourse {
  /** Number of times that another holder took over the conversation. */
  readonly losses: number
  /** Number of model calls, excluding those for summaries. */
  readonly calls: number
  /** Tool calls answered by the turn, in the order in which they ended. */
  readonly tools: readonly ToolRun[]
  /** True while a requested reply is not yet recorded. */
  readonly isAsking: boolean
  /** Failed model calls that are not yet recorded in the origin of a reply. */
  readonly failed: readonly FailedCall[]
  /** Failed condense that is not yet recorded in the origin of a reply. No marker records it if the context fits anyway. */
  readonly unrecordedCondense?: Origin['condenseFailed']
  /** Reason why the context was truncated instead of condensed, if it was truncated. */
  readonly condenseFailed?: CondenseError
}

export const newCourse: TurnCourse = { losses: 0, calls: 0, tools: [], isAsking: false, failed: [] }

/** The log as the current step has found it. */
export interface LogFindings {
  /** Effective history at the last position of the log. */
  readonly now: Effective
  /** Claim on the conversation for this step: not examined yet, free, or free after another holder's turn has ended. */
  readonly claim: 'unknown' | 'free' | 'waited'
  /** Events after a position, by that position. Only those that the step needs are read. */
  readonly later: ReadonlyMap<number, readonly ConversationEvent[]>
  /** True if one of the calls that user messages have overtaken has waited before; undefined until looked up. */
  readonly haveWaited?: boolean
}

/** State of a turn: what it has found in the log, and what this process has done. `nextAction` derives everything else from it. */
export interface TurnState {
  /** Id of the conversation. */
  readonly conversation: string
  /** Progress of this call of `turn`, including the time before another holder took over the conversation. */
  readonly course: TurnCourse
  /** Options of the turn, with all defaults. */
  readonly options: ResolvedTurnOptions
  /** Settings of the next model call: the options, changed by what `prepareStep` has returned. */
  readonly settings: ResolvedTurnOptions
  /** True if the settings of the next model call are final. Without `prepareStep`, they always are. */
  readonly isPrepared: boolean
  /** Error with which the turn ends before its next model call, because it was aborted or cancelled. */
  readonly aborted?: ModelAborted | undefined

  /** The log as found; undefined if anything may have been written since. */
  readonly found?: LogFindings | undefined
  /** Messages in the inbox; undefined if not read for this step. */
  readonly mail?: readonly QueuedMessage[] | undefined
  /** Number of times that the turn started again from a newer history, because others had written to it. */
  readonly stale: number

  /** Totals since the user message that began the turn, without `course.failed`; undefined until the turn has entered its first step. */
  readonly account?: TurnTotals
  /** Last reply that this turn has recorded or, once its calls are left waiting, found. */
  readonly reply?: FinalReply | undefined
  /** True if user messages come after `reply` that the turn still has to answer. */
  readonly isFollowed: boolean
  /** Reply with calls that this turn has just recorded. Nothing is known of its calls in the log of turns before `end`. */
  readonly ownCalls?: { readonly reply: number; readonly end: TurnsEnd } | undefined

  /** True if the configuration in force when the turn began forces the model to call a tool. */
  readonly isForced: boolean
  /** Reply whose step is to be shown to `onStep` and `stopWhen` once its calls have results. */
  readonly unexamined?: { readonly position: number; readonly isForced: boolean } | undefined
  /** Reason to end the turn that the step examined last has given. */
  readonly stopped?: StopCause | undefined

  /** Error of the summarizer, if it has failed in this turn. It is then not used again. */
  readonly failedSummary?: CondenseError
  /** Request that the API has refused since the last reply because it was too long. It is not sent again. */
  readonly refusal?: { readonly error: ContextExceeded; readonly digest: string } | undefined
  /** True if the refusal applies to the history as it is: the next step has to make it smaller. */
  readonly isTooLong: boolean
  /** Error of the budget that prevented a retry. */
  readonly spent?: TurnError

  /** Reply with which the turn ends, as nothing is left to do, unless a message has come into the inbox. */
  readonly ending?: TurnExit | undefined
}

/** Exit of a turn that has nothing left to do. */
export interface TurnExit {
  /** Last reply of the turn, with the calls that are still open. */
  readonly reply: FinalReply
  /** Messages in the inbox; undefined until it is checked. */
  readonly mail?: readonly QueuedMessage[]
  /** History to which the messages would be added, if there are any. */
  readonly now?: Effective
}

/** Returns the state in which a turn begins. */
export const stateAtStart = (
  conversation: string,
  options: ResolvedTurnOptions,
  course: TurnCourse,
): TurnState => ({
  conversation,
  course,
  options,
  settings: options,
  isPrepared: !options.prepareStep,
  stale: 0,
  isFollowed: false,
  isForced: false,
  isTooLong: false,
})

/** Outcome of an action, or of a part of it. */
export type TurnOutcome =
  /** The history has been read, and so has the inbox, unless its messages were already known. */
  | { readonly type: 'found'; readonly now: Effective; readonly mail: readonly QueuedMessage[] }
  | { readonly type: 'taken-in' }
  | { readonly type: 'learned'; readonly findings: Partial<LogFindings> }
  | { readonly type: 'account-opened'; readonly now: Effective; readonly entries: readonly AccountEntry[] }
  /** The log was changed, or was found to have changed, so it must be read again. */
  | { readonly type: 'written' | 'outdated' }
  | { readonly type: 'step-prepared'; readonly settings: ResolvedTurnOptions }
  | { readonly type: 'step-examined'; readonly stopped: StopCause | undefined }
  | { readonly type: 'tool-ended'; readonly run: ToolRun }
  /** The open calls of the reply at `use` have results, or all that are `left` wait. */
  | {
      readonly type: 'calls-answered'
      readonly use: number
      readonly left?: RemainingCalls & { readonly asked: Effective }
    }
  /** A marker or a reply was recorded. */
  | { readonly type: 'spent'; readonly entry: AccountEntry }
  | { readonly type: 'fitted' }
  | { readonly type: 'not-condensed'; readonly error: CondenseError }
  | { readonly type: 'calls-failed'; readonly calls: readonly FailedCall[] }
  /** A reply's origin lists the failures, except for the last `except` calls. */
  | { readonly type: 'failures-recorded'; readonly except: number }
  | { readonly type: 'asking' }
  | { readonly type: 'retry-refused'; readonly error: TurnError }
  | { readonly type: 'refused'; readonly error: ContextExceeded; readonly digest: string }
  | {
      readonly type: 'answered'
      readonly reply: FinalReply
      readonly isFollowed: boolean
      /** History that the reply answers. */
      readonly asked: Effective
      /** End of the log of turns when the reply was recorded, if the reply makes calls. */
      readonly end?: TurnsEnd | undefined
    }
  | { readonly type: 'interrupted' }
  | { readonly type: 'inbox-checked'; readonly ending: TurnExit }

const unread = { found: undefined, mail: undefined } as const

/** Applies the outcome of an action to the state of a turn. */
export const evolveTurn = (state: TurnState, outcome: TurnOutcome): TurnState => {
  const { course, found, options } = state
  switch (outcome.type) {
    case 'found': {
      const { now, mail } = outcome
      return { ...state, found: { now, claim: 'unknown', later: new Map() }, mail, stopped: undefined }
    }
    case 'taken-in': {
      // Messages after waiting calls do not wait for the next reply: they may deny the calls.
      const isFollowed = state.reply !== undefined && !isLeftWaiting(state.reply)
      const mail = state.ending ? undefined : []
      return { ...state, found: undefined, mail, ending: undefined, isFollowed }
    }
    case 'learned':
      return found ? { ...state, found: { ...found, ...outcome.findings } } : state
    case 'account-opened':
      return outcome.entries.reduce(spend, {
        ...state,
        account: emptyAccount,
        isForced: forcesCall(outcome.now),
      })
    case 'written':
      return { ...state, ...unread }
    case 'outdated':
      return { ...state, ...unread, stale: state.stale + 1 }
    case 'step-prepared':
      return { ...state, ...unread, settings: outcome.settings, isPrepared: true }
    case 'step-examined':
      return { ...state, unexamined: undefined, stopped: outcome.stopped }
    case 'tool-ended':
      return { ...state, course: { ...course, tools: [...course.tools, outcome.run] } }
    case 'calls-answered': {
      const { use, left } = outcome
      const answered = { ...withStep(state, use, state.isForced), ...unread, ownCalls: undefined }
      if (!left) return answered
      const { asked, ...remaining } = left
      const last = state.reply ?? finalReplyAt(state.conversation, asked)
      const reply = last && { ...last, ...remaining }
      return reply ? { ...answered, reply, ending: { reply } } : answered
    }
    case 'spent': {
      const isAsking = course.isAsking && outcome.entry.type !== 'reply'
      return spend({ ...state, course: { ...course, isAsking } }, outcome.entry)
    }
    case 'fitted':
      return { ...state, ...unread, isTooLong: false }
    case 'not-condensed': {
      const { error } = outcome
      const unrecordedCondense = { error: error._tag, window: state.settings.context.window }
      return {
        ...state,
        ...unread,
        failedSummary: error,
        course: { ...course, condenseFailed: error, unrecordedCondense },
      }
    }
    case 'calls-failed':
      return { ...state, course: { ...course, failed: [...course.failed, ...outcome.calls] } }
    case 'failures-recorded': {
      const { unrecordedCondense: _, failed, ...others } = course
      return { ...state, course: { ...others, failed: failed.slice(failed.length - outcome.except) } }
    }
    case 'asking':
      return { ...state, course: { ...course, calls: course.calls + 1, isAsking: true } }
    case 'retry-refused':
      return { ...state, spent: outcome.error }
    case 'refused': {
      const { error, digest } = outcome
      return { ...state, ...unread, refusal: { error, digest }, isTooLong: true }
    }
    case 'answered': {
      const { reply, isFollowed, asked, end } = outcome
      const replied = {
        ...withStep(state, reply.position, forcesCall(asked)),
        ...unread,
        reply,
        isFollowed,
        ownCalls: end && { reply: reply.position, end },
        refusal: undefined,
        isTooLong: false,
        isPrepared: !options.prepareStep,
      }
      return isOver(reply) && !isFollowed && !replied.unexamined ? { ...replied, ending: { reply } } : replied
    }
    case 'interrupted':
      return {
        ...state,
        ...unread,
        isFollowed: state.reply !== undefined,
        isPrepared: !options.prepareStep,
      }
    case 'inbox-checked':
      return { ...state, reply: outcome.ending.reply, ending: outcome.ending }
  }
}

/** Adds an entry to the account, at the prices of the current settings. */
const spend = (state: TurnState, entry: AccountEntry): TurnState => ({
  ...state,
  account: totalsWith(state, entry),
})

const totalsWith = ({ account = emptyAccount, settings }: TurnState, entry: AccountEntry): TurnTotals =>
  withEntry(account, entry, { prices: settings.prices, model: settings.wanted.model ?? '' })

/** Returns the totals of a turn, including the failed calls that no reply records yet, and these `more`. */
export const totalsOf = (state: TurnState, more: readonly FailedCall[] = []): TurnTotals =>
  totalsWith(state, { type: 'failed', calls: [...state.course.failed, ...more] })

/** Registers the step of the reply at `position` for examination, if anything examines it. */
const withStep = (state: TurnState, position: number, isForced: boolean): TurnState => {
  const { options, unexamined } = state
  const matters = unexamined?.position !== position && (isForced || options.stopWhen || options.onStep)
  return matters ? { ...state, unexamined: { position, isForced } } : state
}

const forcesCall = (now: Effective): boolean => {
  const { tool_choice: choice } = configurationOf(now).parameters ?? {}
  return isFields(choice) && (choice['type'] === 'any' || choice['type'] === 'tool')
}
