import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { loadLineage } from '../../../conversation/reading/lineage.ts'
import { START } from '../../../events/events.ts'
import type { RecordedTurnFact, TurnFact } from '../../../events/turn-events.ts'
import { unwrap, run, type Fallible } from '../../../result/fallible.ts'
import type { ReadError, StoreError, WriteError } from '../../../store/errors.ts'
import type { EventStore } from '../../../store/port.ts'
import { type ClaimStatus, claimStatusOf } from '../../turn/claims/claim-status.ts'
import { letGo } from '../../turn/claims/let-go.ts'
import { isSeenWhole, type OpenStep, maxAttempts } from '../board/open-step.ts'
import type { AttemptOutcome } from './outcome.ts'
import type { Shift } from './shift.ts'

/** Returns the stream and the revision of the event that created a step. */
const placeOf = (step: string): readonly [string, number] => {
  const at = step.lastIndexOf('@')
  return [step.slice(0, at), Number(step.slice(at + 1))]
}

/** Returns `older` if a step is older than another, `newer` if it is not, and `unknown` if their names do not show it. */
const ageOf = (step: string, than: string): 'older' | 'newer' | 'unknown' => {
  const [[stream, revision], [other, its]] = [placeOf(step), placeOf(than)]
  if (stream !== other) return 'unknown'
  return revision < its ? 'older' : 'newer'
}

/**
 * Reports whether a fact in the log of turns was recorded with knowledge of this event. Such a fact comes after the event, so it will
 * reach every receiver of the event. Also returns false if this cannot be determined.
 */
async function* hasFollowed(
  store: EventStore,
  chat: ConversationHandle,
  event: string,
  { at }: ClaimStatus,
): Fallible<ReadError, boolean> {
  const [stream, revision] = placeOf(event)
  if (stream !== 'conversation') return false
  const own = (yield* unwrap(loadLineage(store, chat.id)))?.[0]
  return own !== undefined && at >= own.offset + revision
}

/** Longest time that an event may take to reach this worker, in milliseconds. */
const delay = 250

type Observer = Pick<Shift, 'known' | 'watch' | 'refused'> & {
  readonly around: Pick<Shift['around'], 'store'>
}

/**
 * Returns the last revision of the conversation's log of turns if this worker may claim the step after it; undefined if another worker
 * was first.
 */
const revisionOfClaim = async (
  { known, watch, refused, around: { store } }: Observer,
  chat: ConversationHandle,
  step: OpenStep,
): Promise<number | undefined> => {
  const seen = known.turnsAt(chat.id)
  if (seen !== undefined) {
    // The claim is chained to the event at this revision, so the handle must have read that event.
    if (!chat.turnLog.isAt(seen)) await run(chat.turnLog.now())
    return seen
  }
  // Nothing was recorded before the conversation began. If another holder was first, the append fails.
  if (isSeenWhole(step) && !refused.wasBlind(chat.id)) return -1
  const end = await run(claimStatusOf(chat.turnLog))
  if (E.isLeft(end)) return undefined
  const { revision, step: newest } = end.right
  const { begunBy } = step
  const age = newest === undefined ? 'older' : ageOf(newest, begunBy)
  const isOnItsWay = (): boolean => known.turnsAt(chat.id) !== undefined
  if (age === 'unknown') {
    const followed = await run(hasFollowed(store, chat, begunBy, end.right))
    if (E.isLeft(followed) || followed.right) return undefined
    await watch.until(isOnItsWay, delay)
  }
  return age === 'newer' || isOnItsWay() ? undefined : revision
}

/** Revision and position at which to claim a step. */
export interface ClaimPlace {
  /** Revision up to which the worker knows the conversation's log of turns; -1 if the log is empty. */
  readonly revision: number
  /** Last position of the conversation. It shows later readers of the claim which replies came after the claim. */
  readonly at: number
}

/**
 * Returns the conversation's last position as this worker knows it. For a step that has not been tried yet, this is the position of the
 * event that created the step; nothing has to be read for it if the handle knows the lineage.
 */
const positionFor = async (
  chat: ConversationHandle,
  step: OpenStep,
  last: Promise<E.Either<ReadError, number>>,
): Promise<number> => {
  const [stream, revision] = placeOf(step.name)
  const known = stream === 'conversation' && step.attempt === 1 ? chat.positionOf(revision) : undefined
  return known ?? E.getOrElse(() => START)(await last)
}

/**
 * Returns the revision and the position at which to claim a step. If this worker has received no event of the conversation's log of
 * turns, such events were recorded before the worker began or have yet to arrive, so the end of the log is read. Facts found there
 * about the event with which the step began, or about a later one, have yet to arrive: the worker that recorded them may have continued
 * with the step to be claimed.
 *
 * @param last the conversation's last position, if it is read anyway
 * @returns undefined if another worker was first
 */
export const placeOfClaim = async (
  observer: Observer,
  chat: ConversationHandle,
  step: OpenStep,
  last: Promise<E.Either<ReadError, number>>,
): Promise<ClaimPlace | undefined> => {
  // In parallel, because each read is a round trip if the store is on a server.
  const [revision, at] = await Promise.all([
    revisionOfClaim(observer, chat, step),
    positionFor(chat, step, last),
  ])
  return revision === undefined ? undefined : { revision, at }
}

/** A worker, and a conversation that it holds or claims. */
interface ClaimHolder {
  readonly worker: string
  readonly chat: ConversationHandle
}

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
  { chat, worker }: ClaimHolder,
  step: OpenStep,
  { revision, at }: ClaimPlace,
): Fallible<WriteError, number | undefined> {
  const before = beforeClaim(step, revision)
  const name = step.isUnasked ? `turns@${revision + before.length}` : step.name
  const { attempt, errors } = step
  const fact: TurnFact =
    attempt > maxAttempts
      ? { type: 'TurnParked', data: { step: name, attempts: attempt - 1, errors, at: START } }
      : { type: 'TurnClaimed', data: { step: name, worker, attempt, at } }
  const end = yield* chat.turnLog.append([...before, fact], revision)
  return fact.type === 'TurnClaimed' ? end.revision : undefined
}

/** Reports whether, according to the facts after a worker's claim, the worker no longer holds the conversation. */
export const isLostIn = (facts: readonly RecordedTurnFact[], worker: string): boolean =>
  facts.some(({ type, data }) => type === 'TurnParked' || (type === 'TurnClaimed' && data.worker !== worker))

/** Outcome with which a worker leaves a conversation. */
export type ClaimEnd = Exclude<AttemptOutcome, { readonly reason: 'settled' }> & { readonly step: string }
/** Number of the attempt that is ending, and the errors of the earlier attempts. */
type Attempts = Pick<OpenStep, 'attempt' | 'errors'>

/** Returns the fact to record when a worker leaves a conversation. */
export const leaveFactOf = (
  worker: string,
  { step, ...how }: ClaimEnd,
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
  { chat, worker }: ClaimHolder,
  claimed: number,
  end: ClaimEnd,
  attempts: Attempts,
): Fallible<StoreError | WriteError, void> {
  yield* letGo(chat.turnLog, claimed, (since) => {
    if (isLostIn(since, worker)) return undefined
    const isDecided = end.reason === 'waiting' && since.some(({ type }) => type === 'CallDecided')
    return leaveFactOf(worker, isDecided ? { ...end, reason: 'free' } : end, attempts)
  })
}
