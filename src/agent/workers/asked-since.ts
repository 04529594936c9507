import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import { START } from '../../events/events.ts'
import type { RecordedTurnFact } from '../../events/turn-events.ts'
import { catchTyped, type Fallible } from '../../result/fallible.ts'
import type { ReadError } from '../../store/errors.ts'
import type { TurnResult, TurnError } from '../turn/turn-result.ts'

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
