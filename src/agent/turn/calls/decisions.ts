import { z } from 'zod'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { objectOf } from '../../../conversation/writing/envelope.ts'
import type { PositionOption } from '../../../conversation/reading/conversation-reader.ts'
import { checkJson } from '../../../events/check.ts'
import type { EventTooLarge, InvalidInput } from '../../../events/errors.ts'
import type { MethodResult, ResultStyle } from '../../../result/answer.ts'
import { configurationOf, type Effective } from '../../../projections/effective.ts'
import { checkEditedInput } from '../../tools/edited-input.ts'
import { unwrap, type Fallible, task } from '../../../result/fallible.ts'
import { despiteConflicts } from '../../../store/conflicts.ts'
import type { ReadError } from '../../../store/errors.ts'
import type { WaitingCall } from '../stream/turn-event.ts'
import type { CallState, RewindPoint } from './call-states.ts'
import { isOver, isWithdrawn, lastWaiting, rewindsAfter, startOf, statesOf } from './call-states.ts'
import { waitingCallOf } from './calls.ts'
import { firstMessageSince, lastUserMessages, overtakenSince } from './deferred-messages.ts'
import type { AlreadyDecided, NotWaiting, NotWithdrawn } from './errors.ts'
import { alreadyDecided, notWaiting, notWithdrawn } from './errors.ts'
import { type OpenCall, openCalls } from './open-calls.ts'
import { openCallsIn } from './said-results.ts'

/** Approval of a call: the person who approves it, and optionally a note and another input. */
export interface Approval {
  /** Name of the person who approves the call, for the log and for the model if it is shown the decision. */
  readonly by: string
  /** A note for later readers of the log. */
  readonly note?: string | undefined
  /** Input that replaces the model's input. The result mentions the replacement; the call itself is unchanged. */
  readonly input?: { readonly [field: string]: unknown } | undefined
}
/** Denial of a call: the person who denies it, and the reason. */
export interface Denial {
  readonly by: string
  /** Reason, shown to the model. */
  readonly reason?: string | undefined
}

/** Withdrawal of an approval: the person who withdraws it, and the reason. */
export interface CallWithdrawal {
  readonly by: string
  /** Reason, for later readers of the log. */
  readonly reason?: string | undefined
}

/** A recorded decision about a call. */
export interface CallDecision {
  readonly conversation: string
  readonly call: string
  readonly decision: 'approved' | 'denied' | 'withdrawn'
  readonly by: string
}

/** A waiting call, as shown to the person who decides about it or supplies its result. */
export interface AwaitedCall extends WaitingCall {
  readonly why: 'approval' | 'handed-back'
  /** Position of the reply that makes the call. */
  readonly reply: number
  /** Time at which the call began to wait: ISO 8601, UTC. */
  readonly since: string
  /** Time of a start before a rewind, or in the conversation that this one was forked from. It may have taken effect. */
  readonly started?: string
}

export type WithdrawalError = ReadError | EventTooLarge | NotWithdrawn
export type DecisionError = ReadError | EventTooLarge | AlreadyDecided | NotWaiting

/** Methods for deciding about waiting calls. */
export interface ApprovalMethods<W extends ResultStyle = 'task'> {
  /**
   * Approves a waiting call; the next turn runs it. `input` replaces the model's input. The first decision counts. Errors:
   * `AlreadyDecided`, `NotWaiting`, a `ReadError`.
   *
   * @example
   * const { waiting } = await chat.turn({ client, model: 'claude-opus-5-5' })
   * for (const { call } of waiting) await chat.approve(call, { by: 'ann' })
   */
  readonly approve: (call: string, approval: Approval) => MethodResult<W, DecisionError, CallDecision>
  /**
   * Denies a call: it is not run, and the model receives the reason. Errors as for `approve`.
   *
   * @example
   * for (const { call } of await chat.waiting()) await chat.deny(call, { by: 'ann', reason: 'Not on a Friday.' })
   */
  readonly deny: (call: string, denial: Denial) => MethodResult<W, DecisionError, CallDecision>
  /**
   * Withdraws the approval of a call whose tool has not started yet: the call waits for approval again. Errors: `NotWithdrawn`, a
   * `ReadError`.
   *
   * @example
   * for (const { call } of await chat.waiting()) {
   *   await chat.approve(call, { by: 'ann' })
   *   await chat.withdraw(call, { by: 'ann', reason: 'wrong account' })
   * }
   */
  readonly withdraw: (
    call: string,
    withdrawal: CallWithdrawal,
  ) => MethodResult<W, WithdrawalError, CallDecision>
  /**
   * Returns the calls that wait for approval or for an outside result, in the order in which the model made them; empty if the
   * conversation does not exist yet. With `at`, only events and decisions recorded before the conversation grew beyond that position
   * count. Errors: a `ReadError`.
   *
   * @example
   * for (const { call, tool, input, why } of await chat.waiting()) console.log(call, tool, input, why)
   */
  readonly waiting: (options?: PositionOption) => MethodResult<W, ReadError, readonly AwaitedCall[]>
}

const by = z.string().min(1, { error: 'say who decides' })
const callId = z.string().min(1, { error: 'must be the id of a waiting call' })
const approvalSchema = z.strictObject({
  call: callId,
  by,
  note: z.string().optional(),
  input: z.record(z.string(), z.unknown()).optional(),
})
const reasonSchema = z.strictObject({ call: callId, by, reason: z.string().optional() })

/** Calls without a result at the end of a history, with the later messages and rewinds that affect them. */
interface CallsNow {
  readonly open: readonly OpenCall[]
  /** Position of the first user message after the open calls; Infinity if there is none. */
  readonly said: number
  /** Rewinds after a position, up to and including the history's position. */
  readonly rewinds: readonly RewindPoint[]
}

/** Returns the open calls at the end of a history, with the rewinds after `since`. */
async function* callsNow(
  chat: ConversationHandle,
  now: Effective,
  since = now.at,
): Fallible<ReadError, CallsNow> {
  const rewinds = (yield* rewindsAfter(chat, since)).filter(({ position }) => position <= now.at)
  const position = overtakenSince(now)
  if (position === undefined) return { open: openCalls(now), said: Infinity, rewinds }
  const deferred = lastUserMessages(now, yield* chat.later(position), position)
  return deferred
    ? { open: openCallsIn(deferred), said: firstMessageSince(now, deferred.before), rewinds }
    : { open: [], said: Infinity, rewinds }
}

interface CallSituation {
  readonly found: CallState | undefined
  /** Last revision of the log of turns. */
  readonly revision: number
  readonly now: Effective
  readonly calls: CallsNow
}

/** Returns the call that has waited, if it is still open. */
const stillOpen = (call: string, { wait }: CallState, { open }: CallsNow): OpenCall | undefined =>
  open.find(({ use, call: { id } }) => use === wait?.data.reply && id === call)

const isGone = 'it already has a result, or the conversation was rewound to before it'
const isRewound = 'the conversation was rewound past it: the next turn asks again'

/** Returns the reason why a call that has waited cannot be approved or denied; undefined if it can. */
const problemWith = (call: string, state: CallState, calls: CallsNow, now: number): string | undefined => {
  const { why, keep, until } = state.wait?.data ?? {}
  if (!stillOpen(call, state, calls)) return isGone
  if (why === 'handed-back') return 'it waits for its result, not for an approval: append the result'
  if (isWithdrawn(state, calls.rewinds, now)) return isRewound
  if (calls.said < Infinity && !keep) return `the user's message at position ${calls.said} denied it`
  return isOver({ until }, now) ? `its time ran out at ${until}` : undefined
}

/** Returns the reason why an approval cannot be withdrawn; undefined if it can. */
const problemWithWithdrawing = (call: string, state: CallState, calls: CallsNow): string | undefined => {
  const { decision, started } = state
  if (!stillOpen(call, state, calls)) return isGone
  if (isWithdrawn(state, calls.rewinds, Date.now())) return isRewound
  if (!decision) return 'nobody has decided on it'
  const { by: who, decision: how } = decision.data
  if (how === 'denied') return `${who} denied it: to decide again, rewind to its reply, or fork there`
  return started && `its tool was started at ${started.metadata.time}`
}

/** Returns the methods for deciding about the calls of a conversation. */
export const createApprovalMethods = (chat: ConversationHandle): ApprovalMethods => {
  const log = chat.turnLog

  /** Returns everything that a decision about a call depends on. */
  async function* lookUp(call: string): Fallible<ReadError, CallSituation> {
    const found = yield* lastWaiting(log, call)
    const { revision } = yield* log.end()
    const now = yield* unwrap(chat.context())
    return { found, revision, now, calls: yield* callsNow(chat, now, found?.wait?.data.at) }
  }

  const decide = (
    decision: 'approved' | 'denied',
    { call, ...given }: { readonly call: string } & Approval & Denial,
  ): Fallible<DecisionError, CallDecision> =>
    despiteConflicts(async function* (): Fallible<DecisionError, CallDecision> {
      const { found, revision, now, calls } = yield* lookUp(call)
      const time = Date.now()
      const problem = found && problemWith(call, found, calls, time)
      // A rewind that withdraws a wait also withdraws its decision.
      if (found?.decision && !isWithdrawn(found, calls.rewinds, time))
        return yield alreadyDecided(chat.id, found.decision)
      if (!found?.wait || problem !== undefined) {
        const waiting = (yield* awaitedIn(now)).map((each) => each.call)
        return yield notWaiting(chat.id, call, problem, waiting)
      }
      const open = stillOpen(call, found, calls)
      if (open && given.input)
        yield* unwrap(checkEditedInput(configurationOf(now).tools ?? [], open.call.name, given.input))
      const { data: waited, revision: wait } = found.wait
      const data = { reply: waited.reply, call, wait, decision, ...given, at: now.at }
      yield* log.append([{ type: 'CallDecided', data }], revision)
      return { conversation: chat.id, call, decision, by: given.by }
    })

  const withdraw = ({
    call,
    ...withdrawn
  }: { readonly call: string } & CallWithdrawal): Fallible<WithdrawalError, CallDecision> =>
    despiteConflicts(async function* (): Fallible<WithdrawalError, CallDecision> {
      const { found, revision, now, calls } = yield* lookUp(call)
      const problem = found
        ? problemWithWithdrawing(call, found, calls)
        : 'it has never waited for an approval'
      if (!found?.wait || problem !== undefined)
        return yield notWithdrawn(chat.id, call, problem ?? '', found?.started?.metadata.time)
      // The start of a tool is appended at an expected revision, too, so only one of the two succeeds there.
      const data = { ...found.wait.data, calls: [call], withdrawn, at: now.at }
      yield* log.append([{ type: 'CallsWaiting', data }], revision)
      return { conversation: chat.id, call, decision: 'withdrawn', by: withdrawn.by }
    })

  async function* awaitedIn(now: Effective): Fallible<ReadError, readonly AwaitedCall[]> {
    const { open } = yield* callsNow(chat, now)
    if (open.length === 0) return []
    const states = yield* statesOf(log, open, now.at)
    const all: AwaitedCall[] = []
    for (const { call, use } of open) {
      const state = states.of(use, call.id)
      const { wait, decision, above } = state
      if (!wait || decision) continue
      const calls = yield* callsNow(chat, now, wait.data.at)
      const { why, until } = wait.data
      if (why === 'approval' && problemWith(call.id, state, calls, Date.now()) !== undefined) continue
      const started = (startOf(state) ?? above?.started)?.metadata.time
      all.push({
        ...waitingCallOf(call, until, wait.data.inputs?.[call.id]),
        why,
        reply: use,
        since: wait.metadata.time,
        ...(started !== undefined && { started }),
      })
    }
    return all
  }

  const checked = <S extends z.ZodType, Err>(
    schema: S,
    call: string,
    given: object,
    then: (input: z.infer<S>) => Fallible<Err, CallDecision>,
  ) =>
    task(async function* (): Fallible<Err | InvalidInput, CallDecision> {
      const fields = yield* unwrap(objectOf(given, "{ by: 'ann' }"))
      return yield* then(yield* unwrap(checkJson(schema, { ...fields, call })))
    })

  return {
    approve: (call, approval) =>
      checked(approvalSchema, call, approval, (input) => decide('approved', input)),
    deny: (call, denial) => checked(reasonSchema, call, denial, (input) => decide('denied', input)),
    withdraw: (call, withdrawal) => checked(reasonSchema, call, withdrawal, withdraw),
    waiting: (options) =>
      task(async function* (): Fallible<ReadError, readonly AwaitedCall[]> {
        const now = yield* chat.begun(options)
        return now ? yield* awaitedIn(now) : []
      }),
  }
}
