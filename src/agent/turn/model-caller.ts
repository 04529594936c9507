import * as E from 'fp-ts/lib/Either.js'
import { isStale } from '../../commands/rejections.ts'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { Retry } from '../models/call-model.ts'
import type { ModelError, Reply } from '../models/model.ts'
import { countStale } from '../models/trace-call.ts'
import type { Effective } from '../../projections/effective.ts'
import { digestOf } from '../receipts/canonical.ts'
import type { RenderedRequest, RequestOptions } from '../receipts/request.ts'
import { unwrap, run, type Fallible } from '../../result/fallible.ts'
import type { CallAnswerer } from './call-handler.ts'
import type { Books } from './books.ts'
import { askOptionsOf } from './call-options.ts'
import type { Course } from './course.ts'
import { tooManyCalls } from './errors.ts'
import type { ContextFitter } from './context-fitter.ts'
import type { DeferredMessages } from './calls/deferred-messages.ts'
import type { TurnRecorder } from './turn-recorder.ts'
import { isCall } from './calls/open-calls.ts'
import type { WatchedTurnOptions } from './options.ts'
import { type SendResult, send } from './send.ts'
import { notRun } from './results/tools.ts'
import { type FinalReply, finalReplyOf, messageOf, replyIn, type TurnError } from './turn-result.ts'
import { usageIn } from './spending/usage.ts'

interface Parts {
  readonly options: WatchedTurnOptions
  /** Returns the settings of the next model call. */
  readonly current: () => WatchedTurnOptions
  readonly account: Books
  readonly course: Course
  readonly context: ContextFitter
  readonly answers: CallAnswerer
  readonly land: TurnRecorder['land']
}

/** A rendered request, and the options used to render it. */
export interface PreparedRequest {
  readonly request: RenderedRequest
  readonly requestOptions: RequestOptions
}

/** Outcome of a request: a recorded reply, or no reply because the context must become smaller or the user interrupted the model. */
export type AskOutcome =
  | { readonly type: 'recorded'; readonly ending: FinalReply; readonly isHolding: boolean }
  | { readonly type: 'interrupted' | 'refused' }

/** Longest wait before a retry, in milliseconds, for which a worker continues to hold the conversation. */
const longestWait = 5_000

/** Returns a function that calls the turn's model and records its reply. */
export const createModelCaller = (
  chat: ConversationHandle,
  { options, current, account, course, context, answers, land }: Parts,
) => {
  const { failures } = course
  const { client, emit, keepLate, keepPartial, maxCalls, watch } = options
  /** Budget error that prevented a retry, if any. */
  let spent: TurnError | undefined
  const onRetry = ({ failed, ...retry }: Retry): boolean => {
    // During a long wait, any worker may take the conversation, and another conversation may use the slot.
    if (chat.party.isWorker && retry.wait > longestWait) return false
    const allowed = account.within(failed)
    if (E.isLeft(allowed)) spent = allowed.left
    else emit({ type: 'retrying', ...retry })
    return E.isRight(allowed)
  }
  const askOptions = { ...askOptionsOf(options), onRetry }

  /** Calls the model and records the reply, unless the API has already refused this request. */
  async function* ask(
    now: Effective,
    { request, requestOptions }: PreparedRequest,
    held: DeferredMessages | undefined,
  ): Fallible<TurnError, AskOutcome> {
    if (course.calls >= maxCalls) return yield tooManyCalls(chat.id, maxCalls)
    const digest = digestOf(request)
    if (context.isRefused(digest)) return { type: 'refused' }
    course.calls++
    course.isAsking = true
    const { secrets } = current()
    const asked = held?.before ?? now
    const { result, ended: why } = await watch.during(
      {
        context: asked.at,
        seen: now.at,
        endedBy: keepLate ? ['interrupt'] : ['interrupt', 'rewind', 'lost'],
      },
      (signal) =>
        send(asked, request, {
          client,
          requestOptions,
          askOptions: { ...askOptions, signal },
          secrets,
        }),
    )
    const { reply, receipt } = result
    if (E.isRight(reply)) return yield* record(now, { reply: reply.right, receipt, held })
    const error = reply.left
    failures.add(error)
    if (error._tag === 'ContextExceeded')
      return context.refuse(error, digest) ? { type: 'refused' } : yield error
    const isEnded = error._tag === 'ModelAborted'
    if (isEnded && why?.why === 'lost') return yield error
    if (isEnded && why?.why === 'rewind') return yield why.error
    const ending = yield* keep(now, { error, receipt, held })
    if (!isEnded || why?.why !== 'interrupt') return yield ending
    // The model is called again, with the user's message.
    emit({ type: 'retrying', error, wait: 0, try: 1 })
    return { type: 'interrupted' }
  }

  async function* record(
    now: Effective,
    { reply, receipt, held }: Arrived & { readonly reply: Reply },
  ): Fallible<TurnError, AskOutcome> {
    context.accept()
    const said = { ...reply, origin: failures.tellIn(reply.origin) }
    failures.told()
    const log = said.content.some(isCall) ? yield* answers.begun(now.at) : undefined
    const written = await run(land(now, [messageOf(said, receipt, log?.begun)], held))
    if (isStale(written)) countStale(reply.origin.usage)
    const landed = yield* unwrap(written)
    const ending = finalReplyOf(landed, said)
    if (log) answers.landed(ending.position, log)
    recorded(ending.position, said)
    return { type: 'recorded', ending, isHolding: landed.isHolding }
  }

  const recorded = (position: number, { content, origin }: Reply): void => {
    course.isAsking = false
    account.add({ type: 'reply', origin })
    const { usage, stopReason } = origin
    emit({ type: 'reply', position, content, usage: usageIn(usage), stopReason })
  }

  /** Records the received part of an interrupted reply, if `keepPartial` is set. Returns the error with which the turn may end. */
  async function* keep(
    now: Effective,
    { error, receipt, held }: Arrived & { readonly error: ModelError },
  ): Fallible<TurnError, TurnError> {
    const { partial } = error
    if (!partial || !keepPartial) return spent ?? error
    const content = partial.content.filter(isCall).map(notRun)
    const results = content.length > 0 ? [{ role: 'user' as const, content }] : []
    // The last failed call is the one that broke off; the turn's error reports it.
    const said = { ...partial, origin: failures.tellIn(partial.origin, 1) }
    const kept = yield* land(now, [messageOf(said, receipt), ...results], held)
    failures.told(1)
    recorded(replyIn(kept), said)
    if (spent) return spent
    const ending = error._tag === 'ModelAborted' ? 'aborted' : 'the reply broke off'
    const message = `${ending}: the part of the reply received so far is recorded at position ${replyIn(kept)}`
    return { ...error, message }
  }

  return ask
}

/** Receipt of the request, and the user messages that were deferred when it was sent. */
interface Arrived extends Pick<SendResult, 'receipt'> {
  readonly held: DeferredMessages | undefined
}
