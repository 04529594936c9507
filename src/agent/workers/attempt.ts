import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import { START } from '../../events/events.ts'
import type { RecordedTurnFact, TurnFact } from '../../events/turn-events.ts'
import { run, type Fallible } from '../../result/fallible.ts'
import type { StoreError, WriteError } from '../../store/errors.ts'
import { letGo } from '../turn/claims/let-go.ts'
import type { TurnResult, TurnError } from '../turn/turn-result.ts'
import { isAskedSince } from './asked-since.ts'
import { claim } from './claim.ts'
import type { OpenStep } from './open-step.ts'
import { looksAgain, type AttemptOutcome, outcomeOf } from './outcome.ts'
import type { ClaimPlace } from './turns-end.ts'

/** A worker's up-to-date view of a conversation that it holds. */
export interface Hold {
  readonly worker: string
  readonly chat: ConversationHandle
  /** Returns the current step as far as the worker knows it. */
  readonly step: () => OpenStep | undefined
  /** Signal that aborts the turn because another worker has claimed the conversation or this one is stopping. */
  readonly signal: AbortSignal
  readonly isLost: () => boolean
  readonly give: (signal: AbortSignal) => Promise<E.Either<TurnError, TurnResult>>
}

/** Maximum number of turns run under one claim because of messages or rewinds that arrive meanwhile. */
const maxLooks = 10

/**
 * Returns the facts to record before a claim at this revision. For a step that nobody requested, they include the request, so that all
 * workers know of the step.
 */
const beforeClaim = ({ isUnasked }: OpenStep, revision: number): readonly TurnFact[] => {
  const data = { at: START }
  return [
    ...(revision < 0 ? [{ type: 'TurnsBegun', data } as const] : []),
    ...(isUnasked ? [{ type: 'TurnRequested', data } as const] : []),
  ]
}

/**
 * Claims a step, or parks it after too many attempts. The fact is appended only if the log of turns still ends at the revision that the
 * worker has seen, so that only one of several competing claims succeeds.
 *
 * @returns the revision of the claim; undefined if the step was parked
 */
export async function* take(
  { chat, worker }: Pick<Hold, 'chat' | 'worker'>,
  step: OpenStep,
  { revision, at }: ClaimPlace,
): Fallible<WriteError, number | undefined> {
  const before = beforeClaim(step, revision)
  const name = step.isUnasked ? `turns@${revision + before.length}` : step.name
  const fact = claim({ ...step, name }, worker)
  const placed: typeof fact = fact.type === 'TurnClaimed' ? { ...fact, data: { ...fact.data, at } } : fact
  const end = yield* chat.turnLog.append([...before, placed], revision)
  return fact.type === 'TurnClaimed' ? end.revision : undefined
}

const isLostIn = (facts: readonly RecordedTurnFact[], worker: string): boolean =>
  facts.some(({ type, data }) => type === 'TurnParked' || (type === 'TurnClaimed' && data.worker !== worker))

/** Reports whether the log contains a request that the turn has not seen. Returns true if the log cannot be read. */
const isToContinue = async (
  chat: ConversationHandle,
  turned: E.Either<TurnError, TurnResult>,
  claimed: number,
): Promise<boolean> => {
  const facts = await run(chat.turnLog.after(claimed))
  if (E.isLeft(facts)) return true
  const asked = await run(isAskedSince(chat, turned, facts.right))
  return E.isLeft(asked) || asked.right
}

/**
 * Runs turns of the conversation until nothing is left to do for this worker.
 *
 * @param began step that the worker has claimed; it may already be over and forgotten
 * @param claimed revision of the claim
 */
export const attempt = async (
  hold: Hold,
  began: Pick<OpenStep, 'name' | 'attempt'>,
  claimed: number,
): Promise<AttemptOutcome & { readonly step: string }> => {
  const { chat, worker, step, signal, isLost, give } = hold
  for (let looks = 1; ; looks++) {
    // The first turn may have begun to read before the worker learned of a newer step.
    const before = (looks > 1 && step()?.name) || began.name
    const turned = await give(signal)
    const isAgain = E.isLeft(turned) && turned.left._tag === 'StaleContext'
    const isNew = (step()?.name ?? before) !== before
    if (looks < maxLooks && !signal.aborted && (isAgain || (isNew && looksAgain(turned)))) {
      // If another worker has taken over, this one must not answer that worker's calls.
      const facts = await run(chat.turnLog.after(claimed))
      if (E.isRight(facts) && !isLostIn(facts.right, worker)) continue
    }
    const name = looksAgain(turned) ? before : (step()?.name ?? before)
    const outcome = outcomeOf(turned, { attempt: began.attempt, isStopping: signal.aborted && !isLost() })
    if (outcome.reason === 'done' && (await isToContinue(chat, turned, claimed)))
      return { reason: 'free', step: name }
    return { ...outcome, step: name }
  }
}

/** Outcome with which a worker leaves a conversation. */
type Left = Exclude<AttemptOutcome, { readonly reason: 'settled' }> & { readonly step: string }
/** Number of the attempt that is ending, and the errors of the earlier attempts. */
type Attempts = Pick<OpenStep, 'attempt' | 'errors'>

/** Returns the fact to record when a worker leaves a conversation. */
export const leaveFactOf = (
  worker: string,
  { step, ...how }: Left,
  { attempt: attempts, errors }: Attempts,
): TurnFact<'TurnReleased' | 'TurnParked'> => {
  if (how.reason !== 'parked') return { type: 'TurnReleased', data: { step, worker, ...how, at: START } }
  const all = [...errors.slice(0, attempts - 1), how.error]
  return { type: 'TurnParked', data: { step, attempts, errors: all, at: START } }
}

/**
 * Releases a conversation, unless another worker has claimed it since. The turn may not have seen a decision recorded after the claim:
 * the conversation is then released to any free worker, which looks again.
 *
 * @param claimed revision of the claim
 */
export async function* release(
  { chat, worker }: Pick<Hold, 'chat' | 'worker'>,
  claimed: number,
  left: Left,
  attempts: Attempts,
): Fallible<StoreError | WriteError, void> {
  yield* letGo(chat.turnLog, claimed, (since) => {
    if (isLostIn(since, worker)) return undefined
    const isDecided = left.reason === 'waiting' && since.some(({ type }) => type === 'CallDecided')
    return leaveFactOf(worker, isDecided ? { ...left, reason: 'free' } : left, attempts)
  })
}
