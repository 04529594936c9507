import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { START } from '../../../events/events.ts'
import type { RecordedTurnFact } from '../../../events/turn-events.ts'
import { catchTyped, type Fallible, run } from '../../../result/fallible.ts'
import type { ReadError } from '../../../store/errors.ts'
import type { TurnResult, TurnError } from '../../turn/turn-result.ts'
import { isLostIn } from './claim.ts'
import type { OpenStep } from '../board/open-step.ts'
import { looksAgain, type AttemptOutcome, outcomeOf } from './outcome.ts'
import { inSpan } from '../../telemetry/spans.ts'

/** Returns the last position that a turn saw before it ended early; undefined if the turn did not end early. */
const lastSeen = (
  turned: E.Either<Pick<TurnError, '_tag'>, TurnResult>,
  facts: readonly RecordedTurnFact[],
): number | undefined => {
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
 *
 * @param facts facts in the log of turns since the claim
 */
export async function* isAskedSince(
  chat: ConversationHandle,
  turned: E.Either<Pick<TurnError, '_tag'>, TurnResult>,
  facts: readonly RecordedTurnFact[],
): Fallible<ReadError, boolean> {
  const position = lastSeen(turned, facts)
  if (position === undefined) return false
  return yield* isAskedAfter(chat, position, facts)
}

/** A worker's up-to-date view of a conversation that it holds. */
interface Hold {
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

/** Makes an attempt at a step in the root span of a new trace. The spans of the attempt's turns are inside it. */
export const traceAttempt = <A extends { readonly reason: string; readonly error?: string }>(
  worker: string,
  conversation: string,
  { name, attempt: number, asking: { tenant, priority } }: OpenStep,
  make: () => Promise<A>,
): Promise<A> =>
  inSpan(
    'palimpsest.attempt',
    () => ({
      isRoot: true,
      attributes: {
        'palimpsest.worker': worker,
        'palimpsest.step': name,
        'palimpsest.attempt': number,
        'palimpsest.tenant': tenant,
        'palimpsest.priority': priority,
      },
      inherited: { 'gen_ai.conversation.id': conversation },
    }),
    async (span) => {
      const made = await make()
      span?.set({ 'palimpsest.outcome': made.reason })
      // Only the error's tag, because the rest may quote content of the conversation.
      if (made.reason === 'failed' || made.reason === 'parked')
        span?.failed(made.error?.split(':')[0] ?? made.reason)
      return made
    },
  )
