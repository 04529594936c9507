import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { run } from '../../../result/fallible.ts'
import { isAskedSinceClaim, attempt, traceAttempt } from './attempt.ts'
import { release, take, placeOfClaim } from './claim.ts'
import { adaptCapacity, apiOutcomeOf } from './outcome.ts'
import { pause } from '../peers/clock.ts'
import { isStoreGone } from '../board/feed.ts'
import { isWithinLimit } from '../choosing/tenant-status.ts'
import type { WorkBoard } from '../board/work-board.ts'
import { isSeenWhole, type OpenStep, tenantOf } from '../board/open-step.ts'
import { policyFor } from '../choosing/policy.ts'
import {
  type Run,
  type Signals,
  type AttemptReport,
  patience,
  type Shift,
  type WorkerSettings,
} from './shift.ts'
import { count } from '../../telemetry/metrics.ts'

/** Outcome of an attempt; `step` is the step at which the attempt ended. */
type Ended = Awaited<ReturnType<typeof attempt>> | { readonly reason: 'lost' }
type LetGo = Parameters<typeof release>[2]

/** Reports whether the board includes the run's claim. */
export const hasSeenClaim = ({ known }: Shift, { conversation, claimed = 0 }: Run): boolean =>
  (known.turnsAt(conversation) ?? -1) >= claimed

/** Waits until the board includes the run's claim, or the run is aborted. */
const received = (shift: Shift, its: Run): Promise<void> =>
  shift.watch.until(() => hasSeenClaim(shift, its) || its.ends.signal.aborted, Infinity)

/** Reports whether, according to the board, the worker holds the conversation. */
const holds = ({ worker, known }: Shift, { conversation }: Run): boolean => {
  const step = known.steps.get(conversation)
  return step?.holder === worker && step.stage !== 'over'
}

/** Takes a step and runs its turns, then releases the conversation and waits until the worker's board shows the release. */
export const serve = async (shift: Shift, its: Run, step: OpenStep, signals: Signals): Promise<void> => {
  if (!(await claimed(shift, its, step))) return
  signals.claimed(its)
  const ended = await begun(shift, its, step, signals)
  if (ended.reason === 'lost') return
  if (ended.reason !== 'settled') await letGo(shift, its, ended)
  its.isOver = true
  signals.freed(its)
  // A claim that reached the board only after this run would look like one that this worker still has to act on.
  await received(shift, its)
  await shift.watch.until(() => !holds(shift, its), patience)
  // The model has finished, but the log does not show it.
  if (holds(shift, its)) await letGo(shift, its, { reason: await leftWith(its), step: ended.step })
}

/** Returns the state in which to leave the conversation. The turn has checked for more work, but may have missed later requests. */
const leftWith = async ({ chat, claimed: at = 0 }: Run): Promise<'free' | 'done'> => {
  const asked = await run(isAskedSinceClaim(chat, at))
  return E.isLeft(asked) || asked.right ? 'free' : 'done'
}

/** Begins the attempt, unless nothing is left to do or the tenant's limit forbids it. */
const begun = async (shift: Shift, its: Run, step: OpenStep, signals: Signals): Promise<Ended> => {
  // The turn was cancelled, but its holder fell silent before it recorded that the step is over.
  if (step.isCancelled) return { reason: 'done', step: step.name }
  if (!(await mayBegin(shift, its, step))) return { reason: 'free', step: step.name }
  return traceAttempt(shift.worker, its.conversation, step, () => attempted(shift, its, step, signals))
}

/**
 * Reports whether the inbox may contain messages. If the worker has received all events of the inbox, the step shows this. Otherwise
 * the inbox counts as empty only if the handle has found it empty at the last revision that the worker received.
 */
const mayHaveMail = (known: WorkBoard, { id, inbox }: ConversationHandle, step: OpenStep): boolean =>
  isSeenWhole(step) ? step.hasMail : !inbox.wasEmptyAt(known.mailAt(id) ?? -1)

/**
 * Records the claim.
 *
 * @returns true if the worker holds the conversation
 */
const claimed = async (shift: Shift, its: Run, step: OpenStep): Promise<boolean> => {
  const { worker, around, known, refused, pace } = shift
  const { conversation, chat } = its
  const began = around.clock.now()
  const seen = known.turnsAt(conversation)
  if (isSeenWhole(step)) chat.isNoFork()
  const last = shift.settings.begin(chat, mayHaveMail(known, chat, step))
  const place = await placeOfClaim(shift, chat, step, last)
  if (place !== undefined) {
    const taken = await run(take({ chat, worker }, step, place))
    its.claimed = E.isRight(taken) ? taken.right : undefined
    if (E.isLeft(taken) && taken.left._tag === 'Conflict') count('palimpsest.claims.refused')
  }
  if (its.claimed === undefined) refused.add(conversation, seen)
  else {
    count('palimpsest.claims.won')
    pace.claimed(around.clock.now() - began)
  }
  return its.claimed !== undefined
}

/** Reports whether the claim is within its tenant's limit, taking simultaneous claims by other workers into account. */
const mayBegin = async (shift: Shift, its: Run, step: OpenStep): Promise<boolean> => {
  const { limit } = policyFor(shift.known.policy, tenantOf(step))
  if (limit === undefined) return true
  await received(shift, its)
  return isWithinLimit(shift.known, its.conversation)
}

/** Runs a turn, and adapts the worker's capacity to the way the API treated the turn's calls. */
const given = async (
  shift: Shift,
  chat: Run['chat'],
  signal: AbortSignal,
): ReturnType<WorkerSettings['give']> => {
  const { settings, around } = shift
  const began = around.clock.now()
  const turned = await settings.give(chat, signal)
  const tried = { how: apiOutcomeOf(turned), began, ended: around.clock.now() }
  shift.capacity = adaptCapacity(shift.capacity, settings.slots, tried)
  return turned
}

/** Makes the attempt, and reports its end. */
const attempted = async (shift: Shift, its: Run, step: OpenStep, signals: Signals): Promise<Ended> => {
  const { worker, around, known } = shift
  const { conversation, chat, ends, claimed: at = 0 } = its
  const began = around.clock.now()
  const hold = {
    worker,
    chat,
    step: () => known.steps.get(conversation),
    signal: ends.signal,
    isLost: () => its.isLost,
    give: (signal: AbortSignal) => given(shift, chat, signal),
  }
  const outcome = await attempt(hold, step, at)
  const ended: Ended = its.isLost ? { reason: 'lost' } : outcome
  signals.ended(its, stepTaken(its, ended, around.clock.now() - began))
  return ended
}

const stepTaken = ({ conversation, attempt: number }: Run, ended: Ended, ms: number): AttemptReport => {
  const error = 'error' in ended && ended.error !== undefined ? { error: ended.error } : {}
  return { conversation, attempt: number, outcome: ended.reason, ms, ...error }
}

/** Records the release of the conversation, retrying until the store answers. */
const letGo = async ({ worker, around, known, over }: Shift, its: Run, how: LetGo): Promise<void> => {
  const { attempt: next = its.attempt + 1, errors = [] } = known.steps.get(its.conversation) ?? {}
  const before = { attempt: Math.max(1, next - 1), errors }
  for (;;) {
    const released = await run(release({ chat: its.chat, worker }, its.claimed ?? 0, how, before))
    if (E.isRight(released) || isStoreGone(released) || over.aborted) return
    // The slot is free even if the release cannot be recorded, because no work is in progress.
    its.isOver = true
    await pause(around.clock, patience, over)
  }
}
