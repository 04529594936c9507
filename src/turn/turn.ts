import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Block } from '../events/blocks.ts'
import type { ConversationEvent, Origin, Receipt } from '../events/events.ts'
import type { NewMessage } from '../commands/command.ts'
import { configurationOf, type Effective } from '../projections/effective.ts'
import { isCompaction, type Rendered } from '../projections/render/renderer.ts'
import type { Conversation } from '../conversation/conversation.ts'
import type { ReadError, WriteError } from '../store/errors.ts'
import type { Written } from '../history/encode.ts'
import type { ContextTooLarge } from '../context/policy/errors.ts'
import {
  nothingToAnswer,
  type NothingToAnswer,
  type SecretMissing,
  tooManyCalls,
  type TooManyCalls,
} from './errors.ts'
import type { UnknownRenderer } from '../receipts/errors.ts'
import { digestOf } from '../receipts/canonical.ts'
import { abortedBy } from '../models/aborted.ts'
import { fitting } from './fitting.ts'
import { eventsAfter, type LiveHistory, liveHistory } from './live.ts'
import { type AskOptions, failedIn, withFailed } from '../models/asking.ts'
import type { FailedCall, ModelError, Reply } from '../models/model.ts'
import { type Held, heldSince, isHeldBack, saidLast } from './held.ts'
import { idsOf, isCall, type OpenCall, openCalls } from './open-calls.ts'
import { isConfigured, prepare } from './prepare.ts'
import { currentRenderer, requestOf, type RequestOptions } from '../receipts/request.ts'
import { send } from './sending.ts'
import type { CondenseError } from '../context/summary/condense.ts'
import { toolNames } from './tool-own-blocks.ts'
import { notRun, runAgain, runTools } from './tools.ts'
import { recordableMessage, resultMessage, restFor } from '../context/policy/result-limit.ts'
import { type Settled, settle, type TurnOptions } from './options.ts'

/** What a turn came to. */
export interface Turned {
  readonly conversation: string
  /** The position of the last reply. */
  readonly position: number
  /** The last reply, and why the model stopped. */
  readonly content: readonly Block[]
  readonly stopReason: string | null | undefined
  /** How often the model was asked; summaries not counted. */
  readonly calls: number
  /** Why the context was truncated and not condensed, if it was. */
  readonly condenseFailed?: CondenseError
}

/** Why a turn has ended early. */
export type TurnError = (
  | WriteError
  | ReadError
  | ModelError
  | ContextTooLarge
  | UnknownRenderer
  | NothingToAnswer
  | TooManyCalls
  | SecretMissing
) & {
  /** The calls of a model that brought no reply, where no reply came after them that has them in its origin. */
  readonly failed?: readonly FailedCall[]
}

type Result<A> = Promise<E.Either<TurnError, A>>

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
  const { client, keepLate, keepPartial, maxCalls, secrets, signal, wanted } = options
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

  /** Goes on from what is there then, where something has happened since the history was read. */
  const orAgain = <A>(result: E.Either<TurnError, A>): E.Either<TurnError, A | undefined> =>
    E.isLeft(result) && result.left._tag === 'StaleContext' && ++stale <= maxStale
      ? E.right(undefined)
      : result

  /**
   * Records a message right behind `now`, before what is held back; where that is not the end any more, on a branch of its own if that
   * was asked for.
   */
  const land = async (now: Effective, messages: readonly NewMessage[], held?: Held): Result<Written> => {
    const written = await (held
      ? moveBack(held, now.at, ...messages)
      : chat.append(messages, { after: now.at, tolerate: 'markers' })())
    if (E.isRight(written) || written.left._tag !== 'StaleContext' || !keepLate) return written
    const kept = await chat.append(messages, { branchAt: (held?.before ?? now).at })()
    return E.isLeft(kept) ? kept : written
  }

  /** What the user has said last, since a position. */
  const saidSince = async (now: Effective, position: number): Result<Held | undefined> =>
    E.map((since: readonly ConversationEvent[]) => saidLast(now, since, position))(
      await eventsAfter(chat, position),
    )

  /** Puts what the user has said behind these messages, and behind what else has happened since. */
  const moveBack = (
    { before, said, again }: Held,
    after: number,
    ...messages: readonly NewMessage[]
  ): Result<Written> => chat.append([...messages, ...said], { rewindTo: before.at, again, after })()

  const answer = async (now: Effective, open: readonly OpenCall[]): Result<Written> => {
    const isFirst = ran !== ended?.position && open.every(({ use }) => use === ended?.position)
    const run = isFirst ? runTools : runAgain
    ran = ended?.position
    const { maxResult, toolTimeout: timeout } = options
    const content = await run(
      open.map(({ call }) => call),
      options.run,
      { signal, timeout, maxResult, named: toolNames(configurationOf(now).tools) },
    )
    const whole = resultMessage(content, { bytes: maxResult, rest: restFor(options.run) })
    let results = whole
    for (let before = now; ; stale++) {
      const written = await chat.append(results, { after: before.at, tolerate: 'markers' })()
      if (E.isLeft(written) && written.left._tag === 'EventTooLarge' && results === whole) {
        results = recordableMessage(content, maxResult)
        continue
      }
      if (E.isRight(written) || written.left._tag !== 'StaleContext' || stale > maxStale) return written
      const later = await history()
      if (E.isLeft(later)) return later
      // A configuration changes nothing for the calls.
      if (idsOf(openCalls(later.right)) === idsOf(open)) {
        before = later.right
        continue
      }
      const held = await saidSince(later.right, before.at)
      if (E.isLeft(held)) return held
      if (!held.right || idsOf(openCalls(held.right.before)) !== idsOf(open)) return land(before, [results])
      // What was said while the tools ran comes behind their results: before them, the model would be told that there are none.
      const inserted = await moveBack(held.right, later.right.at, results)
      if (E.isRight(inserted) || inserted.left._tag !== 'StaleContext') return inserted
    }
  }

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
    if (open.length > 0 && goesOn(ended)) return E.map(() => false)(await answer(asked, open))
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

/** Whether the model has more to say after its last reply in this turn, if there was one. */
const goesOn = (ended: Turned | undefined): boolean =>
  !ended ||
  ended.stopReason === 'pause_turn' ||
  (ended.stopReason === 'tool_use' && ended.content.some(isCall))

/** Whether nothing is left to do after the last reply: no call, and no compaction to be recorded. */
const isOver = (ended: Turned | undefined): boolean =>
  ended !== undefined && !goesOn(ended) && !ended.content.some(isCompaction)

const messageOf = ({ content, origin }: Reply, context: Receipt): NewMessage => ({
  role: 'assistant',
  content,
  origin: { ...origin, context },
})

const turnedOf = (written: Written, { content, origin }: Reply, calls: number): Turned => ({
  conversation: written.conversation,
  position: replyIn(written),
  content,
  stopReason: origin.stopReason,
  calls,
})

/** The position of a reply, before which there may be a rewind, and after which what was held back. */
const replyIn = ({ events, position }: Written): number =>
  events.find(({ type }) => type === 'MessageAppended')?.position ?? position

const requestOptionsOf = ({ cache, systemMessages }: Settled): RequestOptions => ({
  renderer: currentRenderer,
  ...(cache && { cache }),
  ...(systemMessages && { systemMessages }),
})
