import * as E from 'fp-ts/lib/Either.js'
import { run } from '../../../result/fallible.ts'
import { count } from '../../telemetry/metrics.ts'
import { deathIn, isSeenWhole, type OpenStep, tenantOf } from '../board/open-step.ts'
import { policyFor } from '../choosing/policy.ts'
import { isWithinLimit } from '../choosing/tenant-status.ts'
import { type AttemptEnd, isAskedSinceClaim, isOrMayBe, makeAttempt } from './attempt.ts'
import { type ClaimEnd, placeOfClaim, release, take } from './claim.ts'
import { patience, retryWrite, type StepRun, type Shift } from './shift.ts'

/** Callbacks through which a run informs its worker. */
interface RunSignals {
  readonly claimed: () => void
  /** Called when the run's slot is free; the worker may still hold the conversation. */
  readonly freed: () => void
}

/** Reports whether the board includes the run's claim. */
export const hasSeenClaim = ({ known }: Shift, { conversation, claimed = 0 }: StepRun): boolean =>
  (known.turnsAt(conversation) ?? -1) >= claimed

/** Waits until the board includes the run's claim, or the run is aborted. */
const received = (shift: Shift, its: StepRun): Promise<void> =>
  shift.watch.until(() => hasSeenClaim(shift, its) || its.ends.signal.aborted, Infinity)

/** Reports whether, according to the board, the worker holds the conversation. */
const holds = ({ worker, known }: Shift, { conversation }: StepRun): boolean => {
  const step = known.steps.get(conversation)
  return step?.holder === worker && step.stage !== 'over'
}

/** Takes a step and runs its turns, then releases the conversation and waits until the worker's board shows the release. */
export const serve = async (
  shift: Shift,
  its: StepRun,
  step: OpenStep,
  signals: RunSignals,
): Promise<void> => {
  if (!(await claimed(shift, its, step))) return
  signals.claimed()
  const ended = await begun(shift, its, step)
  if (ended.reason === 'lost') return
  if (ended.reason !== 'settled') await letGo(shift, its, ended)
  its.isOver = true
  signals.freed()
  // A claim that reached the board only after this run would look like one that this worker still has to act on.
  await received(shift, its)
  await shift.watch.until(() => !holds(shift, its), patience)
  if (!holds(shift, its)) return
  // The model has finished, but the log does not show it. The turn has checked for more work, but may have missed later requests.
  const isAsked = await isOrMayBe(isAskedSinceClaim(its.chat, its.claimed ?? 0))
  await letGo(shift, its, { reason: isAsked ? 'free' : 'done', step: ended.step })
}

/**
 * Reports whether the inbox may contain messages. If the worker has received all events of the inbox, the step shows this. Otherwise
 * the inbox counts as empty only if the handle has found it empty at the last revision that the worker received.
 */
const mayHaveMail = ({ known }: Shift, { id, inbox }: StepRun['chat'], step: OpenStep): boolean =>
  isSeenWhole(step) ? step.hasMail : !inbox.wasEmptyAt(known.mailAt(id) ?? -1)

/**
 * Records the claim.
 *
 * @returns true if the worker holds the conversation
 */
const claimed = async (shift: Shift, its: StepRun, step: OpenStep): Promise<boolean> => {
  const { worker, around, known, refused, pace } = shift
  const { conversation, chat } = its
  const began = around.clock.now()
  const seen = known.turnsAt(conversation)
  if (isSeenWhole(step)) chat.isNoFork()
  const last = shift.settings.begin(chat, mayHaveMail(shift, chat, step))
  const place = await placeOfClaim(shift, chat, step, last)
  if (place !== undefined) {
    const taken = await run(take({ chat, worker }, step, place))
    its.claimed = E.isRight(taken) ? taken.right : undefined
    if (E.isLeft(taken) && taken.left._tag === 'Conflict') count('palimpsest.claims.refused')
    // The attempt that failed last has reported that the step is parked, but a worker that died has not.
    const error = deathIn(step)
    if (E.isRight(taken) && taken.right === undefined && error !== undefined)
      shift.settings.onStep({ conversation, attempt: step.attempt - 1, outcome: 'parked', ms: 0, error })
  }
  if (its.claimed === undefined) refused.add(conversation, seen)
  else {
    count('palimpsest.claims.won')
    pace.claimed(around.clock.now() - began)
  }
  return its.claimed !== undefined
}

/** Begins the attempt, unless nothing is left to do or the tenant's limit forbids it. */
const begun = async (shift: Shift, its: StepRun, step: OpenStep): Promise<AttemptEnd> => {
  // The turn was cancelled, but its holder fell silent before it recorded that the step is over.
  if (step.isCancelled) return { reason: 'done', step: step.name }
  if (!(await mayBegin(shift, its, step))) return { reason: 'free', step: step.name }
  return makeAttempt(shift, its, step)
}

/** Reports whether the claim is within its tenant's limit, taking simultaneous claims by other workers into account. */
const mayBegin = async (shift: Shift, its: StepRun, step: OpenStep): Promise<boolean> => {
  const { limit } = policyFor(shift.known.policy, tenantOf(step))
  if (limit === undefined) return true
  await received(shift, its)
  return isWithinLimit(shift.known, its.conversation)
}

/** Records the release of the conversation, retrying until the store answers. */
const letGo = async (shift: Shift, its: StepRun, end: ClaimEnd): Promise<void> => {
  const { worker, known } = shift
  const { attempt: next = its.attempt + 1, errors = [] } = known.steps.get(its.conversation) ?? {}
  const before = { attempt: Math.max(1, next - 1), errors }
  const released = () => release({ chat: its.chat, worker }, its.claimed ?? 0, end, before)
  await retryWrite(shift, released, () => {
    // The slot is free even if the release cannot be recorded, because no work is in progress.
    its.isOver = true
  })
}
