import * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../conversation/conversation.ts'
import { START } from '../events/events.ts'
import { loadLineage } from '../history/lineage.ts'
import { ok, run, type Steps } from '../result/steps.ts'
import type { ReadError } from '../store/errors.ts'
import type { EventStore } from '../store/port.ts'
import { type Standing, standingOf } from '../turn/claims/standing.ts'
import type { OpenStep } from './open-step.ts'
import type { Shift } from './shift.ts'

/** The stream and the revision of the event that made a step. */
const placeOf = (step: string): readonly [string, number] => {
  const at = step.lastIndexOf('@')
  return [step.slice(0, at), Number(step.slice(at + 1))]
}

/** Whether a step is `older` than another, or not (`newer`), or this cannot be seen from their names. */
export const ageOf = (step: string, than: string): 'older' | 'newer' | 'unknown' => {
  const [[stream, revision], [other, its]] = [placeOf(step), placeOf(than)]
  if (stream !== other) return 'unknown'
  return revision < its ? 'older' : 'newer'
}

/**
 * Whether something was recorded of the turns by somebody who knew this event: after it, so that it reaches whoever has received the event.
 * False too if this cannot be told.
 */
async function* hasFollowed(
  store: EventStore,
  chat: Conversation,
  event: string,
  { at }: Standing,
): Steps<ReadError, boolean> {
  const [stream, revision] = placeOf(event)
  if (stream !== 'conversation') return false
  const own = (yield* ok(loadLineage(store, chat.id)))?.[0]
  return own !== undefined && at >= own.offset + revision
}

/** How long an event may be on its way to this worker, in milliseconds. */
const delay = 250

type Observer = Pick<Shift, 'known' | 'watch'> & {
  readonly around: Pick<Shift['around'], 'store'>
}

/** The last revision of the conversation's turns, if this worker may claim the step after it; undefined if somebody else was first. */
const revisionOfClaim = async (
  { known, watch, around: { store } }: Observer,
  chat: Conversation,
  { begunBy }: OpenStep,
): Promise<number | undefined> => {
  const seen = known.turnsAt(chat.id)
  if (seen !== undefined) {
    // The claim is chained to the event there: its append finds it read.
    await run(chat.turnLog.now())
    return seen
  }
  const end = await run(standingOf(chat.turnLog))
  if (E.isLeft(end)) return undefined
  const { revision, step } = end.right
  const age = step === undefined ? 'older' : ageOf(step, begunBy)
  const isOnItsWay = (): boolean => known.turnsAt(chat.id) !== undefined
  if (age === 'unknown') {
    const followed = await run(hasFollowed(store, chat, begunBy, end.right))
    if (E.isLeft(followed) || followed.right) return undefined
    await watch.until(isOnItsWay, delay)
  }
  return age === 'newer' || isOnItsWay() ? undefined : revision
}

/** Where to claim a step. */
export interface ClaimPlace {
  /** Of the conversation's turns, -1 if there are none: up to there, the worker knows what is recorded. */
  readonly revision: number
  /** The conversation's last position: who reads the claim later can tell which replies came after it. */
  readonly at: number
}

/**
 * Where to claim a step. If this worker has received nothing of the conversation's turns, they were recorded before it began, or are on
 * their way to it; then this reads their end. What was recorded of the event with which this began, or of a later one, is on its way: its
 * worker may have continued with the step that is to be claimed.
 *
 * @returns undefined if somebody else was first
 */
export const placeOfClaim = async (
  observer: Observer,
  chat: Conversation,
  step: OpenStep,
): Promise<ClaimPlace | undefined> => {
  // At once: on a server, each is a round trip.
  const [revision, position] = await Promise.all([revisionOfClaim(observer, chat, step), chat.position()()])
  return revision === undefined ? undefined : { revision, at: E.getOrElse(() => START)(position) }
}
