import * as E from 'fp-ts/lib/Either.js'
import { isStale } from '../commands/rejections.ts'
import type { Conversation } from '../conversation/conversation.ts'
import { abortedBy } from '../models/aborted.ts'
import type { AskOptions } from '../models/asking.ts'
import type { ModelError } from '../models/model.ts'
import type { Effective } from '../projections/effective.ts'
import type { Rendered } from '../projections/render/renderer.ts'
import { digestOf } from '../receipts/canonical.ts'
import { currentRenderer, requestOf, type RequestOptions } from '../receipts/request.ts'
import { ok, run, type Steps } from '../result/steps.ts'
import { nothingToAnswer, tooManyCalls } from './errors.ts'
import { fitting } from './fitting.ts'
import { type Held, heldSince, isHeldBack } from './held.ts'
import { landing } from './landing.ts'
import type { LiveHistory } from './live.ts'
import { isCall, openCalls } from './open-calls.ts'
import type { Settled } from './options.ts'
import { isConfigured, prepare } from './prepare.ts'
import { type Answered, send } from './sending.ts'
import { notRun, runAgain, runTools } from './tools.ts'
import { goesOn, isOver, messageOf, replyIn, type Turned, turnedOf, type TurnError } from './turned.ts'
import { untold } from './untold.ts'

/** How often a turn decides again because something has happened meanwhile. */
const maxStale = 10

/** One turn, with options that have been settled when it was asked for. */
export async function* turn(
  chat: Conversation,
  history: LiveHistory,
  options: Settled,
): Steps<TurnError, Turned> {
  const { client, keepPartial, maxCalls, secrets, signal, wanted } = options
  const requestOptions = requestOptionsOf(options)
  const sending = { client, requestOptions, askOptions: askOptionsOf(options), secrets }
  const failures = untold()
  const context = fitting(chat, options, (error) => failures.addCondense(error, options.context.window))
  const { land, saidSince, moveBack, answer } = landing(chat, history, options)
  let calls = 0
  let stale = 0
  /** The last reply of this turn. How far the calls of any other reply got is not known. */
  let ended: Turned | undefined
  /** Position of the last reply whose calls were run: they are open again after a rewind to it. */
  let ran: number | undefined
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
  const hasToWait = (held: Held): boolean =>
    (isHolding && ended?.stopReason === 'pause_turn') || isHeldBack(held, requestOptions)

  const requestFor = (now: Effective): E.Either<TurnError, Rendered> => {
    const rendered = requestOf(now, requestOptions)
    return E.isRight(rendered) && rendered.right.awaits !== 'model'
      ? E.left(nothingToAnswer(chat.id))
      : rendered
  }

  /** Calls the model, unless the API has refused this request before, and records the reply. */
  async function* ask(now: Effective, rendered: Rendered, held: Held | undefined): Steps<TurnError, void> {
    if (calls === maxCalls) return yield tooManyCalls(chat.id, maxCalls)
    const digest = digestOf(rendered)
    if (context.isRefused(digest)) return
    calls++
    const { reply, receipt } = await send(held?.before ?? now, rendered, sending)
    if (E.isLeft(reply)) {
      failures.add(reply.left)
      if (reply.left._tag !== 'ContextExceeded') return yield* keep(now, { error: reply.left, receipt, held })
      return context.refuse(reply.left, digest) ? undefined : yield reply.left
    }
    context.accept()
    const said = messageOf({ ...reply.right, origin: failures.tellIn(reply.right.origin) }, receipt)
    failures.told()
    const landed = yield* land(now, [said], held)
    ended = turnedOf(landed, reply.right, calls)
    isHolding = landed.isHolding
  }

  /** Ends the turn with the error of a call; records first what had come of the reply, if that is wanted. */
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
  ): Steps<TurnError, never> {
    const { partial } = error
    if (!partial || !keepPartial) return yield error
    const content = partial.content.filter(isCall).map(notRun)
    const results = content.length > 0 ? [{ role: 'user' as const, content }] : []
    // The last failed call is the one that broke off: the turn's error tells of it.
    const said = messageOf({ ...partial, origin: failures.tellIn(partial.origin, 1) }, receipt)
    const kept = yield* land(now, [said, ...results], held)
    failures.told(1)
    const ending = error._tag === 'ModelAborted' ? 'aborted' : 'the reply broke off'
    const message = `${ending}: what had come of the reply is recorded at position ${replyIn(kept)}`
    return yield { ...error, message }
  }

  /** Does the next thing that there is to do. Whether the turn has ended. */
  async function* step(now: Effective): Steps<TurnError, boolean> {
    const prepared = prepare(chat, now, wanted)
    if (prepared) {
      yield* orAgain(prepared())
      return false
    }
    const said = yield* heldIn(now)
    const asked = (isHolding && said?.before) || now
    const open = openCalls(asked)
    if (open.length > 0 && goesOn(ended)) {
      const isFirst = ran !== ended?.position && open.every(({ use }) => use === ended?.position)
      ran = ended?.position
      yield* answer(asked, open, isFirst ? runTools : runAgain)
      return false
    }
    if (!goesOn(ended) && !isHolding) return true
    if (signal?.aborted) return yield abortedBy(signal)
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
    const fitted = await run(context.step(now))
    if (E.isLeft(fitted)) failures.add(fitted.left)
    if ((yield* orAgain(fitted)) !== true) return false
    yield* ask(now, request, held)
    return isOver(ended) && !isHolding
  }

  async function* allSteps(): Steps<TurnError, Turned> {
    for (let isFirst = true; ; isFirst = false) {
      const now = yield* history()
      // Before anything is written for a turn that has nothing to answer.
      if (isFirst && !isConfigured(now, wanted)) yield* ok(requestFor(now))
      const isDone = yield* step(now)
      const condenseFailed = context.failed()
      if (isDone && ended) return { ...ended, ...(condenseFailed && { condenseFailed }) }
    }
  }

  const outcome = await run(allSteps())
  const failed = failures.calls()
  return E.isLeft(outcome) && failed.length > 0
    ? yield { ...outcome.left, message: outcome.left.message, failed }
    : yield* ok(outcome)
}

const askOptionsOf = ({ signal, onEvent, stallTimeout, maxRetries }: Settled): AskOptions => ({
  ...(signal && { signal }),
  ...(onEvent && { onEvent }),
  ...(stallTimeout !== undefined && { stallTimeout }),
  ...(maxRetries !== undefined && { maxRetries }),
})

const requestOptionsOf = ({ cache, systemMessages }: Settled): RequestOptions => ({
  renderer: currentRenderer,
  ...(cache && { cache }),
  ...(systemMessages && { systemMessages }),
})
