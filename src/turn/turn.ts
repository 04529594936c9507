import * as E from 'fp-ts/lib/Either.js'
import { isStale } from '../commands/rejections.ts'
import { freeze } from '../events/freeze.ts'
import type { Conversation } from '../conversation/conversation.ts'
import { abortedBy } from '../models/aborted.ts'
import type { AskOptions, Retry } from '../models/asking.ts'
import type { FailedCall, ModelError, Reply } from '../models/model.ts'
import type { Effective } from '../projections/effective.ts'
import { digestOf } from '../receipts/canonical.ts'
import { currentRenderer, type Requested, requestOf, type RequestOptions } from '../receipts/request.ts'
import { ok, run, type Steps } from '../result/steps.ts'
import { answering, type Unanswered } from './answering.ts'
import { type Books, books } from './books.ts'
import { deltas } from './deltas.ts'
import { nothingToAnswer, tooManyCalls } from './errors.ts'
import type { WrittenMarker } from './fit.ts'
import { fitting } from './fitting.ts'
import { isPlaceToSpeak } from './busy.ts'
import { type Held, heldSince, isHeldBack, overtakenSince } from './held.ts'
import { hasMail, moveIn } from './inbox-moves.ts'
import { landing } from './landing.ts'
import type { LiveHistory } from './live.ts'
import { isCall, openCalls } from './open-calls.ts'
import type { Watched } from './options.ts'
import { isConfigured, prepare } from './prepare.ts'
import { type Answered, send } from './sending.ts'
import { notRun } from './tools.ts'
import {
  type Ending,
  endingOf,
  goesOn,
  isOver,
  messageOf,
  replyIn,
  type ToolRun,
  type Turned,
  turnedAt,
  type TurnError,
} from './turned.ts'
import { type Emit, unheard } from './turn-event.ts'
import { type Stopped, steering } from './steering.ts'
import { usageIn } from './usage.ts'
import { untold } from './untold.ts'

/** How often a turn decides again because something has happened meanwhile. */
const maxStale = 10

/** One turn, with options that have been settled when it was asked for. */
export async function* turn(
  chat: Conversation,
  history: LiveHistory,
  given: Watched,
): Steps<TurnError, Turned> {
  const tools: ToolRun[] = []
  const options: Watched = { ...given, emit: timing(given.emit, tools) }
  const { client, emit, keepPartial, maxCalls, prepareStep, signal, watch } = options
  /** The settings of the next call, and whether they are known. */
  let current = options
  let isPrepared = !prepareStep
  const requestOptions = requestOptionsOf(options)
  const failures = untold()
  const account = books(chat, () => current)
  const within = (failed: readonly FailedCall[] = []): ReturnType<Books['within']> =>
    account.within([...failures.calls(), ...failed])
  /** Why a failed call was not repeated, if the budget did not allow it. */
  let spent: TurnError | undefined
  const onRetry = ({ failed, ...retry }: Retry): boolean => {
    const allowed = within(failed)
    if (E.isLeft(allowed)) spent = allowed.left
    else emit({ type: 'retrying', ...retry })
    return E.isRight(allowed)
  }
  const askOptions = { ...askOptionsOf(given), onRetry }
  const onMarker = ({ type, position, covers, origin }: WrittenMarker): void => {
    account.add({ type, origin })
    emit({ type, position, covers })
  }
  const context = fitting(chat, () => current, {
    onFailed: (error) => failures.addCondense(error, current.context.window),
    onMarker,
  })
  const landings = landing(chat, history, () => current)
  const { land, saidSince, moveBack } = landings
  const answers = answering(chat, landings, () => current)
  const steps = steering(options, () => account.account(failures.calls()))
  let stopped: Stopped | undefined
  let calls = 0
  let stale = 0
  /** The last reply of this turn. */
  let ended: Ending | undefined
  /** Whether something that the user said was held back until the last reply, and comes after it. */
  let isHolding = false

  /** Undefined if something has happened since the history was read: the turn then continues from what is there now. */
  async function* orAgain<A>(
    answered: E.Either<TurnError, A> | Promise<E.Either<TurnError, A>>,
  ): Steps<TurnError, A | undefined> {
    const result = await answered
    return isStale(result) && ++stale <= maxStale ? undefined : yield* ok(result)
  }

  /** What the user has said last, if it may have to wait for the next reply. */
  async function* heldIn(now: Effective): Steps<TurnError, Held | undefined> {
    const position = isHolding && ended ? ended.position : heldSince(now)
    return position === undefined ? undefined : yield* saidSince(now, position)
  }
  /** Calls that have waited while the user said something else. */
  async function* overtakenIn(now: Effective): Steps<TurnError, Unanswered | undefined> {
    const position = isHolding || !goesOn(ended) ? undefined : overtakenSince(now)
    const held = position === undefined ? undefined : yield* saidSince(now, position)
    const open = held ? openCalls(held.before) : []
    return (yield* answers.haveWaited(open)) ? { open, held } : undefined
  }
  const hasToWait = (held: Held): boolean =>
    (isHolding && ended?.stopReason === 'pause_turn') || isHeldBack(held, requestOptions)

  const requestFor = (now: Effective): E.Either<TurnError, Requested> => {
    const rendered = requestOf(now, requestOptions)
    return E.isRight(rendered) && rendered.right.awaits !== 'model'
      ? E.left(nothingToAnswer(chat.id))
      : rendered
  }

  /** Calls the model, unless the API has refused this request before, and records the reply. */
  async function* ask(now: Effective, rendered: Requested, held: Held | undefined): Steps<TurnError, void> {
    if (calls === maxCalls) return yield tooManyCalls(chat.id, maxCalls)
    const digest = digestOf(rendered)
    if (context.isRefused(digest)) return
    calls++
    const { secrets } = current
    const sending = { client, requestOptions, askOptions, secrets }
    const asked = held?.before ?? now
    const { result, ended: why } = await watch.during(
      {
        context: asked.at,
        seen: now.at,
        endedBy: options.keepLate ? ['interrupt'] : ['interrupt', 'rewind'],
      },
      (ends) => send(asked, rendered, { ...sending, askOptions: { ...askOptions, signal: ends } }),
    )
    const { reply, receipt } = result
    if (E.isLeft(reply)) {
      failures.add(reply.left)
      if (why?.why === 'rewind' && reply.left._tag === 'ModelAborted') return yield why.error
      if (reply.left._tag !== 'ContextExceeded') {
        const error = yield* keep(now, { error: reply.left, receipt, held })
        if (why?.why !== 'interrupt' || reply.left._tag !== 'ModelAborted') return yield error
        isHolding = ended !== undefined
        return
      }
      return context.refuse(reply.left, digest) ? undefined : yield reply.left
    }
    context.accept()
    const said = { ...reply.right, origin: failures.tellIn(reply.right.origin) }
    failures.told()
    const log = said.content.some(isCall) ? yield* answers.begun(now.at) : undefined
    const landed = yield* land(now, [messageOf(said, receipt, log?.begun)], held)
    ended = endingOf(landed, said, calls)
    isHolding = landed.isHolding
    if (log) answers.landed(ended.position, log)
    recorded(ended.position, said)
    steps.stepIn(ended.position, now)
    isPrepared = !prepareStep
  }

  const recorded = (position: number, { content, origin }: Reply): void => {
    account.add({ type: 'reply', origin })
    const { usage, stopReason } = origin
    emit({ type: 'reply', position, content, usage: usageIn(usage), stopReason })
  }

  /** Records what had come of a reply that broke off, if that is wanted. Returns the error that the turn may end with. */
  async function* keep(
    now: Effective,
    {
      error,
      receipt,
      held,
    }: Pick<Answered, 'receipt'> & {
      readonly error: ModelError
      readonly held: Held | undefined
    },
  ): Steps<TurnError, TurnError> {
    const { partial } = error
    if (!partial || !keepPartial) return spent ?? error
    const content = partial.content.filter(isCall).map(notRun)
    const results = content.length > 0 ? [{ role: 'user' as const, content }] : []
    // The last failed call is the one that broke off: the turn's error tells of it.
    const said = { ...partial, origin: failures.tellIn(partial.origin, 1) }
    const kept = yield* land(now, [messageOf(said, receipt), ...results], held)
    failures.told(1)
    recorded(replyIn(kept), said)
    if (spent) return spent
    const ending = error._tag === 'ModelAborted' ? 'aborted' : 'the reply broke off'
    const message = `${ending}: what had come of the reply is recorded at position ${replyIn(kept)}`
    return { ...error, message }
  }

  /** Answers calls. Whether the turn has ended, since nothing more can be done about them. */
  async function* answer(now: Effective, unanswered: Unanswered): Steps<TurnError, boolean> {
    for (const { use } of unanswered.open.slice(-1)) steps.stepIn(use)
    const left = yield* answers.answer(now, unanswered)
    if (!left) return false
    const { waiting, pending } = left
    if (waiting.length > 0) emit({ type: 'waiting', why: 'approval', calls: waiting })
    if (pending.length > 0) emit({ type: 'waiting', why: 'handed-back', calls: pending })
    const last = ended ?? turnedAt(chat.id, now)
    ended = last && { ...last, ...left }
    return true
  }

  /** Does the next thing that there is to do. Whether the turn has ended. */
  async function* step(now: Effective): Steps<TurnError, boolean> {
    const prepared = prepare(chat, now, isPrepared ? current.wanted : undefined)
    if (prepared) {
      const written = (yield* orAgain(prepared()))?.events.at(-1)
      if (written?.type === 'Condensed' && written.data)
        onMarker({ type: 'condensed', position: written.position, covers: written.data.covers })
      return false
    }
    const overtaken = yield* overtakenIn(now)
    if (overtaken) return yield* answer(now, overtaken)
    const said = yield* heldIn(now)
    const asked = (isHolding && said?.before) || now
    const open = openCalls(asked)
    if (open.length > 0 && goesOn(ended)) return yield* answer(asked, { open })
    if (steps.isWaiting()) {
      stopped = await steps.look(now)
      // What the user has said meanwhile begins a turn, which is given at once.
      if (stopped && !isHolding && heldSince(now) === undefined) {
        ended ??= turnedAt(chat.id, now)
        return true
      }
    }
    if (!goesOn(ended) && !isHolding) return true
    if (signal?.aborted) return yield abortedBy(signal)
    if (prepareStep && !isPrepared) {
      yield* ok(within())
      const { replies, usage } = account.account(failures.calls())
      const own = await prepareStep(freeze({ step: replies + 1, effective: now, usage }))
      current = own
        ? { ...(yield* ok(options.withStep(own))), emit, watch, ...(signal && { signal }) }
        : options
      isPrepared = true
      return false
    }
    const held = said && hasToWait(said) ? said : undefined
    if (held && held.again.length > 0) {
      // The request is made of a moment in the log.
      yield* orAgain(moveBack(held, now.at)())
      return false
    }
    // Before a summary is requested for a turn that has nothing to answer.
    const rendered = requestFor(held?.before ?? now)
    // What was held back may have been rewound since.
    if (E.isLeft(rendered) && !goesOn(ended)) return true
    const request = yield* ok(rendered)
    yield* ok(within())
    const fitted = await run(context.step(now))
    if (E.isLeft(fitted)) failures.add(fitted.left)
    if ((yield* orAgain(fitted)) !== true) return false
    yield* ask(now, request, held)
    return isOver(ended) && !isHolding && !steps.isWaiting()
  }

  /** Takes in what waits in the inbox, once it may be said. Whether there was anything. */
  async function* takeIn(now: Effective): Steps<TurnError, boolean> {
    if (!isPlaceToSpeak(now) || !(yield* moveIn(chat))) return false
    isHolding = ended !== undefined
    return true
  }

  async function* allSteps(): Steps<TurnError, Turned> {
    for (let isFirst = true; ; isFirst = false) {
      let now = yield* history()
      if (yield* takeIn(now)) now = yield* history()
      // Before anything is written for a turn that has nothing to answer.
      if (isFirst && !(isPrepared && isConfigured(now, current.wanted))) yield* ok(requestFor(now))
      if (isFirst) {
        steps.begin(now)
        yield* account.open(now)
      }
      stopped = undefined
      const isDone = yield* step(now)
      const condenseFailed = context.failed()
      // What is queued after this look finds that nobody is busy any more.
      if (isDone && (yield* hasMail(chat)) && (yield* takeIn(yield* history()))) continue
      const { replies: _, ...cameTo } = account.account(failures.calls())
      if (isDone && ended) {
        const why = stopped ?? (ended.waiting.length + ended.pending.length > 0 ? 'waiting' : 'stop')
        return { ...ended, ended: why, ...cameTo, tools, ...(condenseFailed && { condenseFailed }) }
      }
    }
  }

  const outcome = await run(allSteps())
  const failed = failures.calls()
  return E.isLeft(outcome) && failed.length > 0
    ? yield { ...outcome.left, message: outcome.left.message, failed }
    : yield* ok(outcome)
}

/** Also keeps how long the calls of tools took. */
const timing =
  (emit: Emit, tools: ToolRun[]): Emit =>
  (event) => {
    if (event.type === 'tool-ended' || event.type === 'tool-failed') {
      const { type, call, tool, ms } = event
      tools.push({ call, tool, ms, isError: type === 'tool-failed' })
    }
    emit(event)
  }

/** @returns what is told of each event of a reply's stream: the caller, and who listens to the turn */
const hearing = ({ emit, onEvent }: Watched): AskOptions['onEvent'] => {
  if (emit === unheard) return onEvent
  const grow = deltas(emit)
  return (event) => {
    onEvent?.(event)
    grow(event)
  }
}

const askOptionsOf = (options: Watched): AskOptions => {
  const { signal, stallTimeout, maxRetries } = options
  const onEvent = hearing(options)
  return {
    ...(signal && { signal }),
    ...(onEvent && { onEvent }),
    ...(stallTimeout !== undefined && { stallTimeout }),
    ...(maxRetries !== undefined && { maxRetries }),
  }
}

const requestOptionsOf = ({ cache, client: { form }, systemMessages }: Watched): RequestOptions => ({
  renderer: currentRenderer,
  // Only the Messages API has breakpoints.
  ...(form ? { form } : cache && { cache }),
  ...(systemMessages && { systemMessages }),
})
