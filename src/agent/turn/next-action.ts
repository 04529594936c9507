import * as E from 'fp-ts/lib/Either.js'
import type { NewMessage } from '../../commands/command.ts'
import { withApiWording } from '../context/policy/errors.ts'
import { type ContextPlan, manageContext } from '../context/policy/policy.ts'
import { refusalOf } from '../context/policy/refusal.ts'
import type { QueuedMessage } from '../../conversation/beside/inbox.ts'
import type { Policy } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import { digestOf } from '../receipts/canonical.ts'
import { type RenderedRequest, type RequestOptions, requestOf } from '../receipts/request.ts'
import { requestOptionsOf } from './request-options.ts'
import {
  type DeferredMessages,
  deferralStart,
  isHeldBack,
  lastUserMessages,
  overtakenSince,
  waitsForServer,
} from './calls/deferred-messages.ts'
import { isToDo, type OpenCall, openCalls } from './calls/open-calls.ts'
import { isPlaceToSpeak, openCallsIn, splitMessages } from './calls/said-results.ts'
import { nothingToAnswer, tooManyCalls } from './errors.ts'
import { isConfigured, preparationOf, type StepPreparation } from './prepare.ts'
import { withinBudget } from './spending/budget.ts'
import { finalReplyAt, type FinalReply, goesOn, type TurnError } from './turn-result.ts'
import { type LogFindings, totalsOf, type TurnState } from './turn-state.ts'
import { type NextStep, stepAt, type TurnStep } from './turn-step.ts'

/** A rendered request, and the options used to render it. */
export interface PreparedRequest {
  readonly request: RenderedRequest
  readonly requestOptions: RequestOptions
}

/** Next action of a turn. */
export type TurnAction =
  /** Reads the history, and the inbox if it is not known. */
  | { readonly type: 'look' }
  /** Moves the messages of the inbox to the end of the conversation. */
  | { readonly type: 'take-in'; readonly mail: readonly QueuedMessage[] }
  /** Waits while another holder runs a turn, and claims the conversation if others might claim it. */
  | {
      readonly type: 'enter'
      readonly now: Effective
      readonly isFirst: boolean
      readonly hasFinished: boolean
    }
  /** Adds up what the turn has cost so far, according to the log. */
  | { readonly type: 'open-account'; readonly now: Effective }
  /** Records the configuration of the next request, or a compaction that the API has made. */
  | { readonly type: 'prepare'; readonly preparation: StepPreparation }
  /** Reads the events after a position. */
  | { readonly type: 'read-later'; readonly after: number }
  /** Looks up whether one of these calls has waited before. */
  | { readonly type: 'recall-calls'; readonly open: readonly OpenCall[] }
  /** Records the user's last messages again, after `results` and the other events since. */
  | {
      readonly type: 'move-back'
      readonly now: Effective
      readonly deferred: DeferredMessages
      readonly results: readonly NewMessage[]
    }
  /** Runs or answers the open calls, or leaves them waiting. */
  | {
      readonly type: 'answer-calls'
      readonly now: Effective
      readonly open: readonly OpenCall[]
      /** User messages that follow the calls. */
      readonly deferred?: DeferredMessages | undefined
    }
  /** Shows a complete step to the caller's `onStep` and `stopWhen`. The step is absent if its reply is no longer shown. */
  | {
      readonly type: 'examine-step'
      readonly now: Effective
      readonly step: TurnStep | undefined
      readonly isForced: boolean
    }
  /** Asks the caller's `prepareStep` for the settings of the next model call. */
  | { readonly type: 'prepare-step'; readonly step: NextStep }
  /** Makes the context smaller. The policy is the record of the plan, to be stored with its markers. */
  | {
      readonly type: 'fit'
      readonly now: Effective
      readonly plan: Exclude<ContextPlan, { readonly type: 'nothing' }>
      readonly policy: Policy
    }
  /** Calls the model and records its reply. */
  | {
      readonly type: 'ask-model'
      readonly now: Effective
      readonly prepared: PreparedRequest
      /** User messages that have to wait for the reply. */
      readonly deferred: DeferredMessages | undefined
    }
  /** Looks for messages that have come into the inbox during the last step of the turn. */
  | { readonly type: 'check-inbox'; readonly reply: FinalReply }
  /** Ends the turn with this reply. `now` is set if another holder has recorded the reply. */
  | { readonly type: 'finish'; readonly reply: FinalReply; readonly now?: Effective }
  | { readonly type: 'fail'; readonly error: TurnError }

export type TurnActionOf<T extends TurnAction['type']> = Extract<TurnAction, { readonly type: T }>

/** Decides what a turn does next. */
export const nextAction = (state: TurnState): TurnAction => {
  const { account, aborted, ending, found, isFollowed, options, reply, settings } = state
  if (ending) return endOf(ending)
  if (!found) return { type: 'look' }
  const { now, claim } = found
  if (claim === 'unknown') return entryTo(now, state)
  const theirs = claim === 'waited' ? answerOfOthers(now, state) : undefined
  if (theirs) return theirs
  if (!account) return { type: 'open-account', now }

  const preparation = preparationOf(now, state.isPrepared ? settings.wanted : undefined)
  if (preparation) return { type: 'prepare', preparation }

  // Messages that the user said while calls of the last reply had no results.
  const overtakenAt = goesOn(reply) || isFollowed ? overtakenSince(now) : undefined
  if (isUnread(found, overtakenAt)) return { type: 'read-later', after: overtakenAt }
  const overtaking = userMessages(found, overtakenAt)
  const inOrder = overtaking && resultsFirst(overtaking, state)
  if (inOrder) return { type: 'move-back', now, ...inOrder }
  if (overtaking && !isFollowed) {
    const open = openCallsIn(overtaking)
    if (open.length > 0 && found.haveWaited === undefined) return { type: 'recall-calls', open }
    if (found.haveWaited) return { type: 'answer-calls', now, open, deferred: overtaking }
  }

  // Messages that the user said after results, and that may have to wait for the next reply.
  const deferredAt = isFollowed && reply ? reply.position : deferralStart(now)
  if (isUnread(found, deferredAt)) return { type: 'read-later', after: deferredAt }
  const said = userMessages(found, deferredAt)
  const followed = isFollowed ? said : undefined
  const open = followed ? openCallsIn(followed) : openCalls(now)
  if (open.length > 0 && goesOn(reply)) return { type: 'answer-calls', now: followed?.before ?? now, open }

  if (state.unexamined) {
    const { position, isForced } = state.unexamined
    return { type: 'examine-step', now, step: stepAt(position, now, totalsOf(state)), isForced }
  }
  const last = reply ?? finalReplyAt(state.conversation, now)
  // A user message that has arrived meanwhile begins a new turn, which runs at once.
  const isStopped = state.stopped !== undefined && !isFollowed && deferralStart(now) === undefined
  if (last && (isStopped || !(goesOn(reply) || isFollowed))) return { type: 'check-inbox', reply: last }

  if (aborted) return fail(aborted)
  const spent = withinBudget(state.conversation, settings.budget, totalsOf(state).usage)
  if (options.prepareStep && !state.isPrepared) {
    const { replies, usage } = totalsOf(state)
    return E.isLeft(spent)
      ? fail(spent.left)
      : { type: 'prepare-step', step: { step: replies + 1, effective: now, usage } }
  }

  const deferred = said && hasToWait(said, state) ? said : undefined
  // A request is built from the history at one position of the log, so the messages are moved first.
  if (deferred && deferred.again.length > 0) return { type: 'move-back', now, deferred, results: [] }
  // Rendered first, so that no summary is requested for a turn that has nothing to answer.
  const rendered = requestFor(deferred?.before ?? now, state)
  // The deferred messages may have been rewound since.
  if (E.isLeft(rendered))
    return last && !goesOn(reply) ? { type: 'check-inbox', reply: last } : fail(rendered.left)
  if (E.isLeft(spent)) return fail(spent.left)
  const fitting = fitOf(now, state, state.isTooLong)
  if (fitting) return fitting
  if (state.course.calls >= options.maxCalls) return fail(tooManyCalls(state.conversation, options.maxCalls))
  const prepared = rendered.right
  // The same request is never sent twice.
  const isRefused = state.refusal && digestOf(prepared.request) === state.refusal.digest
  return (isRefused && fitOf(now, state, true)) || { type: 'ask-model', now, prepared, deferred }
}

const fail = (error: TurnError): TurnAction => ({ type: 'fail', error })

/** Ends the turn, unless messages have come into the inbox that may be appended now. */
const endOf = ({ reply, mail, now }: NonNullable<TurnState['ending']>): TurnAction => {
  if (!mail) return { type: 'check-inbox', reply }
  return now && mail.length > 0 && isPlaceToSpeak(now, mail)
    ? { type: 'take-in', mail }
    : { type: 'finish', reply }
}

/** Decides what to do before the turn enters a step at this history. */
const entryTo = (now: Effective, state: TurnState): TurnAction => {
  const { account, course, mail = [], reply } = state
  if (mail.length > 0 && isPlaceToSpeak(now, mail)) return { type: 'take-in', mail }
  const isFirst = !account
  const theirs = isFirst && course.losses > 0 ? answerOfOthers(now, state) : undefined
  if (theirs) return theirs
  // Checked first, so that nothing is written for a turn that has nothing to answer.
  if (isFirst && !(state.isPrepared && isConfigured(now, state.settings.wanted))) {
    const rendered = requestFor(now, state)
    if (E.isLeft(rendered)) return fail(rendered.left)
  }
  return { type: 'enter', now, isFirst, hasFinished: !goesOn(reply) }
}

/** Ends the turn with the reply that another holder has recorded, if nothing is left to do. */
const answerOfOthers = (now: Effective, { conversation }: TurnState): TurnAction | undefined => {
  const reply = isToDo(now) ? undefined : finalReplyAt(conversation, now)
  return reply && { type: 'finish', reply, now }
}

const isUnread = ({ later }: LogFindings, after: number | undefined): after is number =>
  after !== undefined && !later.has(after)

/** Returns the user's last messages after a position whose later events are read. */
const userMessages = (
  { now, later }: LogFindings,
  after: number | undefined,
): DeferredMessages | undefined => {
  const events = after === undefined ? undefined : later.get(after)
  return after !== undefined && events ? lastUserMessages(now, events, after) : undefined
}

/** Returns the messages with the results in them put first, if any of these results follow other content. */
const resultsFirst = (overtaking: DeferredMessages, { options }: TurnState) => {
  const isAlone = waitsForServer(overtaking.before, requestOptionsOf(options))
  const split = splitMessages(overtaking, isAlone)
  return split && { deferred: { ...overtaking, said: split.said }, results: split.results }
}

/** Reports whether the user's last messages have to wait for the next reply. */
const hasToWait = (said: DeferredMessages, { isFollowed, reply, options }: TurnState): boolean =>
  (isFollowed && reply?.stopReason === 'pause_turn') || isHeldBack(said, requestOptionsOf(options))

const requestFor = (
  now: Effective,
  { conversation, options }: TurnState,
): E.Either<TurnError, PreparedRequest> => {
  // Computed again each time, because the form may change after the endpoint refuses a request.
  const requestOptions = requestOptionsOf(options)
  const rendered = requestOf(now, requestOptions)
  if (E.isLeft(rendered)) return rendered
  const request = rendered.right
  return request.awaits === 'model'
    ? E.right({ request, requestOptions })
    : E.left(nothingToAnswer(conversation, request.awaits))
}

/** Makes the context smaller, if it has to be. The policy records what is needed to derive the same plan again. */
const fitOf = (
  now: Effective,
  { settings: { context, summarizer }, failedSummary, refusal }: TurnState,
  isTooLong: boolean,
): TurnAction | undefined => {
  const refused = isTooLong ? refusal?.error : undefined
  const canCondense = summarizer !== undefined && !failedSummary
  const options = { canCondense, ...(refused && { refused: refusalOf(refused) }) }
  const planned = manageContext(now, context, options)
  if (E.isLeft(planned)) {
    const error = planned.left
    return fail(refused && error._tag === 'ContextTooLarge' ? withApiWording(error, refused) : error)
  }
  const plan = planned.right
  if (plan.type === 'nothing') return undefined
  const { used, allowed, said, learned } = plan
  const outcome = { ...(said !== undefined && { said }), ...(learned && { learned }) }
  const given = { position: now.at, settings: { ...context }, options }
  const policy: Policy = { of: 'context', used, allowed, ...given, ...outcome }
  return { type: 'fit', now, plan, policy }
}
