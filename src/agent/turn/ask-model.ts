import * as E from 'fp-ts/lib/Either.js'
import { isStale } from '../../commands/rejections.ts'
import type { Origin, Receipt } from '../../events/events.ts'
import { failuresIn, type Retry, withFailed } from '../models/call-model.ts'
import type { ModelError, Reply } from '../models/model.ts'
import { countStale } from '../models/trace-call.ts'
import { digestOf } from '../receipts/canonical.ts'
import { unwrap, run, type Fallible } from '../../result/fallible.ts'
import { beginTurnLog } from './answer-calls.ts'
import { isCall } from './calls/open-calls.ts'
import type { TurnActionOf } from './next-action.ts'
import { recordMessages } from './record-messages.ts'
import { notRun } from './results/tools.ts'
import { send } from './send.ts'
import { withinBudget } from './spending/budget.ts'
import { usageIn } from '../models/usage.ts'
import type { TurnMeans } from './turn-means.ts'
import { finalReplyOf, messageOf, replyIn, type TurnError } from './turn-result.ts'
import { totalsOf, type TurnCourse, type TurnOutcome, type TurnState } from './turn-state.ts'

/** Longest wait before a retry, in milliseconds, for which a worker continues to hold the conversation. */
const longestWait = 5_000

/** Calls the model and records its reply. */
export async function* askModel(
  asking: TurnActionOf<'ask-model'>,
  state: TurnState,
  means: TurnMeans,
): Fallible<TurnError, TurnOutcome> {
  const { now, deferred } = asking
  const { conversation, options, settings } = state
  const { emit, keepLate } = options
  const { chat, tell, watch } = means
  const onRetry = ({ failed, ...retry }: Retry): boolean => {
    // During a long wait, any worker may take the conversation, and another conversation may use the slot.
    if (chat.party.isWorker && retry.wait > longestWait) return false
    const allowed = withinBudget(conversation, settings.budget, totalsOf(state, failed).usage)
    if (E.isLeft(allowed)) tell({ type: 'retry-refused', error: allowed.left })
    else emit({ type: 'retrying', ...retry })
    return E.isRight(allowed)
  }
  tell({ type: 'asking' })
  const asked = deferred?.before ?? now
  const endedBy = keepLate ? (['interrupt'] as const) : (['interrupt', 'rewind', 'lost'] as const)
  const { result, ended: why } = await watch.during({ context: asked.at, seen: now.at, endedBy }, (signal) =>
    send(asked, asking.prepared, { options, secrets: settings.secrets, signal, onRetry }),
  )
  const { reply, receipt } = result
  const context = { state, asking, means, receipt }
  if (E.isRight(reply)) return yield* record(reply.right, context)
  const error = reply.left
  const failed = tell({ type: 'calls-failed', calls: failuresIn(error) })
  if (error._tag === 'ContextExceeded')
    return settings.context.automatic === false
      ? yield error
      : { type: 'refused', error, digest: digestOf(asking.prepared.request) }
  const isEnded = error._tag === 'ModelAborted'
  if (isEnded && why?.why === 'lost') return yield error
  if (isEnded && why?.why === 'rewind') return yield why.error
  const ending = yield* keep(error, { ...context, state: failed })
  if (!isEnded || why?.why !== 'interrupt') return yield ending
  // The model is called again, with the user's message.
  emit({ type: 'retrying', error, wait: 0, try: 1 })
  return { type: 'interrupted' }
}

/** State of the turn when a reply arrived, the action that requested it, and the receipt of the request. */
interface ReplyContext {
  readonly state: TurnState
  readonly asking: TurnActionOf<'ask-model'>
  readonly receipt: Receipt
  readonly means: TurnMeans
}

async function* record(
  reply: Reply,
  { state, asking: { now, deferred }, receipt, means }: ReplyContext,
): Fallible<TurnError, TurnOutcome> {
  const { chat, tell } = means
  const said = { ...reply, origin: originWith(reply.origin, state.course) }
  tell({ type: 'failures-recorded', except: 0 })
  const end = said.content.some(isCall) ? yield* beginTurnLog(chat.turnLog, now.at) : undefined
  const messages = [messageOf(said, receipt, end?.begun)]
  const written = await run(recordMessages(means, state.settings, { now, messages, deferred }))
  if (isStale(written)) countStale(reply.origin.usage)
  const recorded = yield* unwrap(written)
  const last = finalReplyOf(state.conversation, replyIn(recorded), said)
  tellReply(last.position, said, { state, means })
  return { type: 'answered', reply: last, isFollowed: recorded.isFollowed, asked: now, end }
}

/** Records the received part of an interrupted reply, if `keepPartial` is set. Returns the error with which the turn may end. */
async function* keep(
  error: ModelError,
  { state, asking: { now, deferred }, receipt, means }: ReplyContext,
): Fallible<TurnError, TurnError> {
  const { partial } = error
  const { options, settings, spent } = state
  if (!partial || !options.keepPartial) return spent ?? error
  const content = partial.content.filter(isCall).map(notRun)
  const results = content.length > 0 ? [{ role: 'user' as const, content }] : []
  // The last failed call is the one that broke off; the turn's error reports it.
  const said = { ...partial, origin: originWith(partial.origin, state.course, 1) }
  const messages = [messageOf(said, receipt), ...results]
  const position = replyIn(yield* recordMessages(means, settings, { now, messages, deferred }))
  means.tell({ type: 'failures-recorded', except: 1 })
  tellReply(position, said, { state, means })
  if (spent) return spent
  const ending = error._tag === 'ModelAborted' ? 'aborted' : 'the reply broke off'
  return {
    ...error,
    message: `${ending}: the part of the reply received so far is recorded at position ${position}`,
  }
}

/** Returns the origin of a reply with the failures before it, except for the last `except` calls. */
const originWith = (origin: Origin, { failed, unrecordedCondense }: TurnCourse, except = 0): Origin => ({
  ...withFailed(origin, failed.slice(0, failed.length - except)),
  ...(unrecordedCondense && { condenseFailed: unrecordedCondense }),
})

/** Counts a recorded reply and emits its event. */
const tellReply = (
  position: number,
  { content, origin }: Reply,
  { state, means }: Pick<ReplyContext, 'state' | 'means'>,
): void => {
  const { usage, stopReason } = origin
  means.tell({ type: 'spent', entry: { type: 'reply', origin } })
  state.options.emit({ type: 'reply', position, content, usage: usageIn(usage), stopReason })
}
