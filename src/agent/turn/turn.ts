import * as E from 'fp-ts/lib/Either.js'
import { isStale } from '../../commands/rejections.ts'
import { freeze } from '../../events/freeze.ts'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { QueuedMessage } from '../../conversation/beside/inbox.ts'
import { modelAborted, orAborted } from '../models/abort.ts'
import type { Effective } from '../../projections/effective.ts'
import { requestOf } from '../receipts/request.ts'
import { unwrap, run, type Fallible } from '../../result/fallible.ts'
import { createCallHandler, type UnansweredCalls } from './call-handler.ts'
import { books } from './books.ts'
import { requestOptionsOf } from './call-options.ts'
import type { Course } from './course.ts'
import { nothingToAnswer } from './errors.ts'
import type { WrittenMarker } from './fit.ts'
import { createContextFitter } from './context-fitter.ts'
import { isPlaceToSpeak } from './say/busy.ts'
import {
  type DeferredMessages,
  deferralStart,
  isHeldBack,
  overtakenSince,
  waitsForServer,
} from './calls/deferred-messages.ts'
import { moveIn } from './say/inbox-moves.ts'
import { createTurnRecorder } from './turn-recorder.ts'
import type { TurnClaim } from './claims/turn-claim.ts'
import type { LiveHistory } from './calls/live.ts'
import { isToDo, openCalls } from './calls/open-calls.ts'
import { splitMessages, openCallsIn } from './calls/said-results.ts'
import type { WatchedTurnOptions } from './options.ts'
import { isConfigured, prepare } from './prepare.ts'
import { type PreparedRequest, createModelCaller } from './model-caller.ts'
import { type StopCause, createStopCondition } from './stop-condition.ts'
import {
  type FinalReply,
  goesOn,
  isOver,
  type TurnResult,
  finalReplyAt,
  type TurnError,
} from './turn-result.ts'
import { collectDurations } from './results/watch-call.ts'

/** Maximum number of times that a turn starts again from a newer history because of concurrent events. */
const maxStale = 10

/**
 * Runs one turn, with options that were resolved when the turn was requested.
 *
 * @param course progress of this call of `turn` before another holder took over the conversation; that holder may have answered since
 */
export async function* turn(
  chat: ConversationHandle,
  history: LiveHistory,
  given: WatchedTurnOptions,
  hold: TurnClaim,
  course: Course,
): Fallible<TurnError, TurnResult> {
  const { failures } = course
  const options: WatchedTurnOptions = { ...given, emit: collectDurations(given.emit, course.tools) }
  const { emit, prepareStep, signal, watch } = options
  /** Settings of the next model call. They are final once `isPrepared` is true. */
  let current = options
  let isPrepared = !prepareStep
  const account = books(chat, () => current, failures.calls)
  const onMarker = ({ type, position, covers, origin }: WrittenMarker): void => {
    account.add({ type, origin })
    emit({ type, position, covers })
  }
  const context = createContextFitter(chat, () => current, {
    onFailed: (error) => {
      course.condenseFailed = error
      failures.addCondense(error, current.context.window)
    },
    onMarker,
  })
  const landings = createTurnRecorder(chat, history, () => current)
  const { land, saidSince, moveBack } = landings
  const answers = createCallHandler(chat, landings, () => current, hold)
  const parts = { options, current: () => current, account, course, context, answers, land }
  const ask = createModelCaller(chat, parts)
  const steps = createStopCondition(options, account.account)
  let stopped: StopCause | undefined
  let stale = 0
  /** The last reply of this turn. */
  let ended: FinalReply | undefined
  /** True if a user message was deferred until the last reply and now comes after it. */
  let isHolding = false

  /** Returns the value of a result, or undefined if the history was stale: the turn then continues from the current history. */
  async function* orAgain<A>(
    answered: E.Either<TurnError, A> | Promise<E.Either<TurnError, A>>,
  ): Fallible<TurnError, A | undefined> {
    const result = await answered
    return isStale(result) && ++stale <= maxStale ? undefined : yield* unwrap(result)
  }

  /** Returns the user's last messages, if they may have to wait for the next reply. */
  async function* heldIn(now: Effective): Fallible<TurnError, DeferredMessages | undefined> {
    const position = isHolding && ended ? ended.position : deferralStart(now)
    return position === undefined ? undefined : yield* saidSince(now, position)
  }
  /** Returns the user messages that follow calls whose results were still incomplete. */
  async function* overtakingIn(now: Effective): Fallible<TurnError, DeferredMessages | undefined> {
    const position = !goesOn(ended) && !isHolding ? undefined : overtakenSince(now)
    return position === undefined ? undefined : yield* saidSince(now, position)
  }
  const hasToWait = (held: DeferredMessages): boolean =>
    (isHolding && ended?.stopReason === 'pause_turn') || isHeldBack(held, requestOptionsOf(options))

  const requestFor = (now: Effective): E.Either<TurnError, PreparedRequest> => {
    // Computed again each time, because the form may change after the endpoint refuses a request.
    const requestOptions = requestOptionsOf(options)
    const rendered = requestOf(now, requestOptions)
    if (E.isLeft(rendered)) return rendered
    const request = rendered.right
    return request.awaits === 'model'
      ? E.right({ request, requestOptions })
      : E.left(nothingToAnswer(chat.id))
  }

  /** Answers open calls. Returns true if the turn has ended because it can do nothing more about them. */
  async function* answer(now: Effective, unanswered: UnansweredCalls): Fallible<TurnError, boolean> {
    for (const { use } of unanswered.open.slice(-1)) steps.stepIn(use)
    const left = yield* answers.answer(now, unanswered)
    if (!left) return false
    const last = ended ?? finalReplyAt(chat.id, now)
    ended = last && { ...last, ...left }
    return true
  }

  /**
   * Waits for a function supplied by the caller and returns its result. The function may take a long time: if the turn ends first, its
   * result is not awaited.
   */
  async function* heeding<A>(now: Effective, work: () => Promise<A>): Fallible<TurnError, A> {
    const { result } = await watch.during(
      { context: now.at, seen: now.at, endedBy: ['lost'] },
      async (ends) => {
        try {
          return E.right(await orAborted(work(), ends))
        } catch (error) {
          if (!ends.aborted) throw error
          return E.left(modelAborted(ends))
        }
      },
    )
    return yield* unwrap(result)
  }

  /** Performs the next step. Returns true if the turn has ended. */
  async function* step(now: Effective): Fallible<TurnError, boolean> {
    const prepared = prepare(chat, now, isPrepared ? current.wanted : undefined)
    if (prepared) {
      const made = yield* orAgain(prepared())
      if (made) history.wrote(made)
      const written = made?.events.at(-1)
      if (written?.type === 'Condensed' && written.data)
        onMarker({ type: 'condensed', position: written.position, covers: written.data.covers })
      return false
    }
    const overtaking = yield* overtakingIn(now)
    const inOrder =
      overtaking && splitMessages(overtaking, waitsForServer(overtaking.before, requestOptionsOf(options)))
    if (inOrder) {
      const { results, said: others } = inOrder
      yield* orAgain(moveBack({ ...overtaking, said: others }, now.at, ...results)())
      return false
    }
    if (overtaking && !isHolding) {
      const open = openCallsIn(overtaking)
      if (yield* answers.haveWaited(open)) return yield* answer(now, { open, held: overtaking })
    }
    const said = yield* heldIn(now)
    const asked = (isHolding && said?.before) || now
    const open = isHolding && said ? openCallsIn(said) : openCalls(now)
    if (open.length > 0 && goesOn(ended)) return yield* answer(asked, { open })
    if (steps.isWaiting()) {
      stopped = yield* heeding(now, () => steps.look(now))
      // A user message that has arrived meanwhile begins a new turn, which runs at once.
      if (stopped && !isHolding && deferralStart(now) === undefined) {
        ended ??= finalReplyAt(chat.id, now)
        return true
      }
    }
    if (!goesOn(ended) && !isHolding) return true
    if (signal?.aborted) return yield modelAborted(signal)
    if (prepareStep && !isPrepared) {
      yield* unwrap(account.within())
      const { replies, usage } = account.account()
      const next = freeze({ step: replies + 1, effective: now, usage })
      const own = yield* heeding(now, async () => prepareStep(next))
      current = own
        ? { ...(yield* unwrap(options.withStep(own))), emit, watch, ...(signal && { signal }) }
        : options
      isPrepared = true
      return false
    }
    const held = said && hasToWait(said) ? said : undefined
    if (held && held.again.length > 0) {
      // A request is built from the history at one position of the log, so the messages are moved first.
      yield* orAgain(moveBack(held, now.at)())
      return false
    }
    // Rendered first, so that no summary is requested for a turn that has nothing to answer.
    const rendered = requestFor(held?.before ?? now)
    // The deferred messages may have been rewound since.
    if (E.isLeft(rendered) && !goesOn(ended)) return true
    const request = yield* unwrap(rendered)
    yield* unwrap(account.within())
    const fitted = await run(context.step(now))
    if (E.isLeft(fitted)) failures.add(fitted.left)
    if ((yield* orAgain(fitted)) !== true) return false
    const reply = yield* ask(now, request, held)
    // The next model call is prepared again, unless the same call is repeated with a smaller context.
    if (reply.type !== 'refused') isPrepared = !prepareStep
    if (reply.type === 'interrupted') isHolding = ended !== undefined
    if (reply.type === 'recorded') {
      ;({ ending: ended, isHolding } = reply)
      steps.stepIn(ended.position, now)
    }
    return isOver(ended) && !isHolding && !steps.isWaiting()
  }

  /** Moves the contents of the inbox into the conversation, if they may be appended now. Returns true if any messages were moved. */
  async function* takeIn(now: Effective, mail: readonly QueuedMessage[]): Fallible<TurnError, boolean> {
    if (!isPlaceToSpeak(now, mail) || !(yield* moveIn(chat, mail))) return false
    // Messages after waiting calls are not deferred: they may deny the calls.
    isHolding = ended !== undefined && !isLeftWaiting(ended)
    return true
  }

  /** Emits events for the calls that are still open when the turn ends. */
  const tellOf = ({ waiting, pending }: FinalReply): void => {
    if (waiting.length > 0) emit({ type: 'waiting', why: 'approval', calls: waiting })
    if (pending.length > 0) emit({ type: 'waiting', why: 'handed-back', calls: pending })
  }

  /** Returns the turn's result, after emitting the events for its open calls. */
  const turnedAs = (ending: FinalReply): TurnResult => {
    tellOf(ending)
    const { replies: _, ...cameTo } = account.account()
    const { calls, tools, condenseFailed } = course
    const why = stopped ?? (isLeftWaiting(ending) ? 'waiting' : 'stop')
    return { ...ending, ended: why, calls, ...cameTo, tools, ...(condenseFailed && { condenseFailed }) }
  }

  /** Returns the turn's result if another holder has recorded the answer. */
  async function* answeredBy(ending: FinalReply, now: Effective): Fallible<TurnError, TurnResult> {
    yield* account.open(now)
    return turnedAs(ending)
  }

  async function* allSteps(): Fallible<TurnError, TurnResult> {
    for (let isFirst = true; ; isFirst = false) {
      // In parallel, because each read is a round trip if the store is on a server.
      const [shown, mail] = await Promise.all([run(history()), run(history.mail())])
      let found = yield* unwrap(shown)
      if (yield* takeIn(found, yield* unwrap(mail))) found = yield* history()
      const others = isFirst && course.losses > 0 && !isToDo(found) ? finalReplyAt(chat.id, found) : undefined
      if (others) return yield* answeredBy(others, found)
      // Checked first, so that nothing is written for a turn that has nothing to answer.
      if (isFirst && !(isPrepared && isConfigured(found, current.wanted))) yield* unwrap(requestFor(found))
      const hasFinished = ended !== undefined && !goesOn(ended)
      const now = yield* hold.enter(found, { watch, isFirst, hasFinished })
      const waitedFor = now !== found && !isToDo(now) ? finalReplyAt(chat.id, now) : undefined
      if (waitedFor) return yield* answeredBy(waitedFor, now)
      if (isFirst) {
        steps.begin(now)
        yield* account.open(now)
      }
      stopped = undefined
      const isDone = yield* step(now)
      // A process that queues a message after this check finds that the conversation is no longer busy.
      const late = isDone ? yield* chat.inbox.pending() : []
      if (late.length > 0 && (yield* takeIn(yield* history(), late))) continue
      if (isDone && ended) return turnedAs(ended)
    }
  }

  const outcome = await run(allSteps())
  const failed = failures.calls()
  return E.isLeft(outcome) && failed.length > 0
    ? yield { ...outcome.left, message: outcome.left.message, failed }
    : yield* unwrap(outcome)
}

const isLeftWaiting = ({ waiting, pending }: FinalReply): boolean => waiting.length + pending.length > 0
