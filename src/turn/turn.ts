import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Origin } from '../events/events.ts'
import type { Effective } from '../projections/effective.ts'
import type { Rendered } from '../projections/render/renderer.ts'
import type { Conversation } from '../conversation/conversation.ts'
import type { Written } from '../history/encode.ts'
import { nothingToAnswer, tooManyCalls } from './errors.ts'
import { digestOf } from '../receipts/canonical.ts'
import { abortedBy } from '../models/aborted.ts'
import { fitting } from './fitting.ts'
import { landing } from './landing.ts'
import { type LiveHistory, liveHistory } from './live.ts'
import { type AskOptions, failedIn, withFailed } from '../models/asking.ts'
import type { FailedCall } from '../models/model.ts'
import { type Held, heldSince, isHeldBack } from './held.ts'
import { isCall, openCalls } from './open-calls.ts'
import { isConfigured, prepare } from './prepare.ts'
import { currentRenderer, requestOf, type RequestOptions } from '../receipts/request.ts'
import { send } from './sending.ts'
import { notRun, runAgain, runTools } from './tools.ts'
import { type Settled, settle, type TurnOptions } from './options.ts'
import {
  goesOn,
  isOver,
  messageOf,
  replyIn,
  type Result,
  type Turned,
  turnedOf,
  type TurnError,
} from './turned.ts'

/**
 * Gives turns to a model in a conversation: makes the context fit, asks, records the reply, runs the tools that it asks for, records
 * their results, and goes on until the model stops. Everything is in the log before the next thing is done, so a turn that ends half
 * way, or a process that is killed, is gone on with by the next turn.
 *
 * The reply lands only where it was computed from: if anything but markers has happened since, the turn ends with `StaleContext`.
 */
export const turns = (chat: Conversation): ((options: TurnOptions) => TaskEither<TurnError, Turned>) => {
  const history = liveHistory(chat)
  return (options) => async () => {
    const settled = settle(options)
    return E.isLeft(settled) ? settled : turn(chat, history, settled.right)
  }
}

/** How often a turn begins anew what it had decided because something has happened meanwhile. */
const maxStale = 10

const turn = async (chat: Conversation, history: LiveHistory, options: Settled): Result<Turned> => {
  const { client, keepPartial, maxCalls, secrets, signal, wanted } = options
  const requestOptions = requestOptionsOf(options)
  const askOptions = askOptionsOf(options)
  let calls = 0
  let stale = 0
  /** The calls in vain that no reply has in its origin yet. */
  let failed: readonly FailedCall[] = []
  /** The condense in vain that no reply has in its origin yet: where the context fits, no marker tells of it. */
  let condenseFailed: Origin['condenseFailed']
  const context = fitting(chat, options, (error) => {
    failed = [...failed, ...failedIn(error)]
    condenseFailed = { error: error._tag, window: options.context.window }
  })
  /** The last reply; whoever else finds its calls open does not know how far they got. */
  let ended: Turned | undefined
  /** The last reply whose calls were run: they are open again where somebody has gone back to it. */
  let ran: number | undefined
  /** Whether something that the user said was held back until the last reply, and comes after it. */
  let isHolding = false

  const { land, saidSince, moveBack, answer } = landing(chat, history, options)

  /** Goes on from what is there then, where something has happened since the history was read. */
  const orAgain = <A>(result: E.Either<TurnError, A>): E.Either<TurnError, A | undefined> =>
    E.isLeft(result) && result.left._tag === 'StaleContext' && ++stale <= maxStale
      ? E.right(undefined)
      : result

  /** What the user has said last, where it may have to wait for the next reply. */
  const heldIn = async (now: Effective): Result<Held | undefined> => {
    const position = isHolding && ended ? ended.position : heldSince(now)
    return position === undefined ? E.right(undefined) : saidSince(now, position)
  }
  const hasToWait = (held: Held): boolean =>
    (isHolding && ended?.stopReason === 'pause_turn') || isHeldBack(held, requestOptions)

  const requestFor = (now: Effective): E.Either<TurnError, Rendered> => {
    const rendered = requestOf(now, requestOptions)
    return E.isRight(rendered) && rendered.right.awaits !== 'model'
      ? E.left(nothingToAnswer(chat.id))
      : rendered
  }

  const ask = async (
    now: Effective,
    rendered: Rendered,
    held: Held | undefined,
  ): Result<Written | undefined> => {
    if (calls === maxCalls) return E.left(tooManyCalls(chat.id, maxCalls))
    const digest = digestOf(rendered)
    if (context.isRefused(digest)) return E.right(undefined)
    calls++
    const sending = { client, requestOptions, askOptions, secrets }
    const { reply, receipt } = await send(held?.before ?? now, rendered, sending)
    const before = failed
    const told = (origin: Origin, inVain: readonly FailedCall[]): Origin => ({
      ...withFailed(origin, inVain),
      ...(condenseFailed && { condenseFailed }),
    })
    if (E.isRight(reply)) {
      context.accept()
      const said = messageOf({ ...reply.right, origin: told(reply.right.origin, before) }, receipt)
      failed = []
      condenseFailed = undefined
      const written = await land(now, [said], held)
      if (E.isRight(written)) {
        ended = turnedOf(written.right, reply.right, calls)
        isHolding = held !== undefined
      }
      return written
    }
    failed = [...before, ...failedIn(reply.left)]
    if (reply.left._tag === 'ContextExceeded')
      return context.refuse(reply.left, digest) ? E.right(undefined) : reply
    const { partial } = reply.left
    if (!partial || !keepPartial) return reply
    const notRuns = partial.content.filter(isCall).map(notRun)
    const results = notRuns.length > 0 ? [{ role: 'user' as const, content: notRuns }] : []
    const earlier = failed.slice(0, -1)
    const kept = await land(
      now,
      [messageOf({ ...partial, origin: told(partial.origin, earlier) }, receipt), ...results],
      held,
    )
    if (E.isLeft(kept)) return kept
    failed = failed.slice(-1)
    const ending = reply.left._tag === 'ModelAborted' ? 'aborted' : 'the reply broke off'
    const message = `${ending}: what had come of the reply is recorded at position ${replyIn(kept.right)}`
    return E.left({ ...reply.left, message })
  }

  /** Does the next thing that there is to do. Resolves to true where there is none: the turn has ended. */
  const step = async (now: Effective): Result<boolean> => {
    const prepared = prepare(chat, now, wanted)
    if (prepared) return E.map(() => false)(orAgain(await prepared))
    const said = await heldIn(now)
    if (E.isLeft(said)) return said
    const asked = (isHolding && said.right?.before) || now
    const open = openCalls(asked)
    if (open.length > 0 && goesOn(ended)) {
      const isFirst = ran !== ended?.position && open.every(({ use }) => use === ended?.position)
      ran = ended?.position
      return E.map(() => false)(await answer(asked, open, isFirst ? runTools : runAgain))
    }
    if (!goesOn(ended) && !isHolding) return E.right(true)
    if (signal?.aborted) return E.left(abortedBy(signal))
    // Before a summary is asked for, for a turn that is none.
    const held = said.right && hasToWait(said.right) ? said.right : undefined
    // So that the log knows a moment to make the request of.
    if (held && held.again.length > 0) return E.map(() => false)(orAgain(await moveBack(held, now.at)))
    const rendered = requestFor(held?.before ?? now)
    // What was held back may have been rewound since.
    if (E.isLeft(rendered)) return goesOn(ended) ? rendered : E.right(true)
    const stepped = await context.step(now)
    if (E.isLeft(stepped)) failed = [...failed, ...failedIn(stepped.left)]
    const isFit = orAgain(stepped)
    if (E.isLeft(isFit) || !isFit.right) return E.map(() => false)(isFit)
    return E.map(() => isOver(ended) && !isHolding)(await ask(now, rendered.right, held))
  }

  const allSteps = async (): Result<Turned> => {
    for (let isFirst = true; ; isFirst = false) {
      const now = await history()
      if (E.isLeft(now)) return now
      // Before anything is written for a turn that is none.
      const asIs = isFirst && !isConfigured(now.right, wanted) && requestFor(now.right)
      if (asIs && E.isLeft(asIs)) return asIs
      const done = await step(now.right)
      if (E.isLeft(done)) return done
      const why = context.failed()
      if (done.right && ended) return E.right({ ...ended, ...(why && { condenseFailed: why }) })
    }
  }

  const outcome = await allSteps()
  return E.isLeft(outcome) && failed.length > 0
    ? E.left({ ...outcome.left, message: outcome.left.message, failed })
    : outcome
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
