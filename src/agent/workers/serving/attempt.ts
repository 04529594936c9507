import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { START } from '../../../events/events.ts'
import type { RecordedTurnFact } from '../../../events/turn-events.ts'
import { catchTyped, run, type Fallible } from '../../../result/fallible.ts'
import type { ReadError } from '../../../store/errors.ts'
import { inSpan } from '../../telemetry/spans.ts'
import type { TurnResult } from '../../turn/turn-result.ts'
import { maxAttempts, type OpenStep } from '../board/open-step.ts'
import { isLostIn } from './claim.ts'
import type { GivenError } from './give.ts'
import {
  adaptCapacity,
  apiOutcomeOf,
  type AttemptOutcome,
  isUnreachable,
  looksAgain,
  outcomeOf,
} from './outcome.ts'
import type { AttemptReport, StepRun, Shift } from './shift.ts'

type GivenTurn = E.Either<GivenError, TurnResult>

/** Outcome with which an attempt ended, and the step at which it ended. */
type StepOutcome = AttemptOutcome & { readonly step: string }
/** End of an attempt. `lost`: another worker has taken over the conversation. */
export type AttemptEnd = StepOutcome | { readonly reason: 'lost' }

/** Returns the last position that a turn saw before it ended early; undefined if the turn did not end early. */
const lastSeen = (turned: GivenTurn, facts: readonly RecordedTurnFact[]): number | undefined => {
  if (E.isRight(turned)) {
    const { ended, position } = turned.right
    return ended === 'stop' || ended === 'waiting' ? undefined : position
  }
  if (turned.left._tag !== 'TurnCancelled') return undefined
  return facts.findLast(({ type }) => type === 'TurnCancelled')?.data.at
}

/** Reports whether an answer was requested from workers after a position. */
async function* isAskedAfter(
  chat: ConversationHandle,
  position: number,
  facts: readonly RecordedTurnFact[],
): Fallible<ReadError, boolean> {
  if (facts.some(({ type, data }) => type === 'TurnRequested' && data.at >= position)) return true
  return yield* catchTyped<ReadError & Error, boolean>(async () => {
    for await (const { metadata } of chat.events({ from: position + 1 }))
      if (metadata.answer !== undefined) return true
    return false
  })
}

/**
 * Reports whether an answer was requested from workers after the position of the conversation's last claim.
 *
 * @param claimed revision of the first claim by the worker that holds the conversation
 */
export async function* isAskedSinceClaim(
  chat: ConversationHandle,
  claimed: number,
): Fallible<ReadError, boolean> {
  const facts = yield* chat.turnLog.after(claimed - 1)
  const claim = facts.findLast(({ type }) => type === 'TurnClaimed')
  return yield* isAskedAfter(chat, claim?.data.at ?? START, facts)
}

/**
 * Reports whether an answer was requested from workers after the last step of a turn that ended early, or after the turn was cancelled.
 * The conversation must then be examined again, although that turn is over.
 */
async function* isAskedSinceTurn(
  chat: ConversationHandle,
  turned: GivenTurn,
  claimed: number,
): Fallible<ReadError, boolean> {
  const facts = yield* chat.turnLog.after(claimed)
  const position = lastSeen(turned, facts)
  return position !== undefined && (yield* isAskedAfter(chat, position, facts))
}

/** Reports whether something holds. Returns true if the store cannot be read: the conversation is then examined again. */
export const isOrMayBe = async (fact: Fallible<ReadError, boolean>): Promise<boolean> => {
  const read = await run(fact)
  return E.isLeft(read) || read.right
}

/** Runs a turn, and adapts the worker's capacity to the way the API treated the turn's calls. */
const given = async (shift: Shift, { chat, ends }: StepRun): Promise<GivenTurn> => {
  const { settings, around } = shift
  const began = around.clock.now()
  const turned = await settings.give(chat, ends.signal)
  const ended = around.clock.now()
  shift.capacity = adaptCapacity(shift.capacity, settings.slots, { how: apiOutcomeOf(turned), began, ended })
  const isOutage = E.isLeft(turned) && isUnreachable(turned.left)
  shift.unreachableSince = isOutage ? (shift.unreachableSince ?? began) : undefined
  return turned
}

/** Maximum number of turns run under one claim because of messages or rewinds that arrive meanwhile. */
const maxLooks = 10

/**
 * Runs turns of the conversation until nothing is left to do for this worker.
 *
 * @param began step that the worker has claimed; it may already be over and forgotten
 */
const runTurns = async (shift: Shift, its: StepRun, began: OpenStep): Promise<StepOutcome> => {
  const { worker, known, around } = shift
  const { conversation, chat, claimed = 0 } = its
  const { signal } = its.ends
  const current = (): string | undefined => known.steps.get(conversation)?.name
  for (let looks = 1; ; looks++) {
    // The first turn may have begun to read before the worker learned of a newer step.
    const before = (looks > 1 && current()) || began.name
    const turned = await given(shift, its)
    const isAgain = E.isLeft(turned) && turned.left._tag === 'StaleContext'
    const isNew = (current() ?? before) !== before
    if (looks < maxLooks && !signal.aborted && (isAgain || (isNew && looksAgain(turned)))) {
      // If another worker has taken over, this one must not answer that worker's calls.
      const facts = await run(chat.turnLog.after(claimed))
      if (E.isRight(facts) && !isLostIn(facts.right, worker)) continue
    }
    const step = looksAgain(turned) ? before : (current() ?? before)
    const isStopping = signal.aborted && !its.isLost
    const now = around.clock.now()
    const outage = now - (shift.unreachableSince ?? now)
    const outcome = outcomeOf(turned, { attempt: began.attempt, isStopping, outage })
    const isLeft = outcome.reason === 'done' && (await isOrMayBe(isAskedSinceTurn(chat, turned, claimed)))
    return { ...(isLeft ? { reason: 'free' } : outcome), step }
  }
}

const reportOf = ({ conversation, attempt }: StepRun, ended: AttemptEnd, ms: number): AttemptReport => {
  const error = 'error' in ended && ended.error !== undefined ? { error: ended.error } : {}
  const waitMs = 'waitMs' in ended ? ended.waitMs : undefined
  // The worker that looks at the step next records that it is parked.
  if (ended.reason === 'failed' && attempt >= maxAttempts)
    return { conversation, attempt, outcome: 'parked', ms, ...error }
  const wait = waitMs !== undefined && ended.reason !== 'waiting' ? { waitMs } : {}
  return { conversation, attempt, outcome: ended.reason, ms, ...error, ...wait }
}

/**
 * Makes an attempt at a step that the worker has claimed, and reports its end. The attempt is the root span of a new trace, and the
 * spans of its turns are inside it.
 */
export const makeAttempt = (shift: Shift, its: StepRun, step: OpenStep): Promise<AttemptEnd> => {
  const { worker, settings, around } = shift
  const { name, attempt, asking } = step
  const describe = () => ({
    isRoot: true,
    attributes: {
      'palimpsest.worker': worker,
      'palimpsest.step': name,
      'palimpsest.attempt': attempt,
      'palimpsest.tenant': asking.tenant,
      'palimpsest.priority': asking.priority,
    },
    inherited: { 'gen_ai.conversation.id': its.conversation },
  })
  return inSpan('palimpsest.attempt', describe, async (span) => {
    const began = around.clock.now()
    const outcome = await runTurns(shift, its, step)
    const ended: AttemptEnd = its.isLost ? { reason: 'lost' } : outcome
    settings.onStep(reportOf(its, ended, around.clock.now() - began))
    span?.set({ 'palimpsest.outcome': ended.reason })
    // Only the error's tag, because the rest may quote content of the conversation.
    if (ended.reason === 'failed' || ended.reason === 'parked')
      span?.failed(ended.error?.split(':')[0] ?? ended.reason)
    return ended
  })
}
