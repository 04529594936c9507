import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { Effective } from '../../../projections/effective.ts'
import type { Fallible } from '../../../result/fallible.ts'
import type { ReadError } from '../../../store/errors.ts'
import type { RewindPoint } from './call-states.ts'
import { isSaid, overtakenSince, lastUserMessages } from './deferred-messages.ts'
import { type OpenCall, openCalls } from './open-calls.ts'
import { openCallsIn } from './said-results.ts'

/** Calls without a result at the end of a history, with the later messages and rewinds that affect them. */
export interface CallsNow {
  readonly open: readonly OpenCall[]
  /** Position of the first user message after the open calls; Infinity if there is none. */
  readonly said: number
  /** Rewinds after `since`, up to and including the history's position. */
  readonly rewinds: readonly RewindPoint[]
}

/**
 * Returns the open calls at the end of a history, and the events that affect them.
 *
 * @param since position after which rewinds matter
 */
export async function* callsNow(
  chat: ConversationHandle,
  now: Effective,
  since = now.at,
): Fallible<ReadError, CallsNow> {
  const rewinds = (yield* rewindsAfter(chat, since)).filter(({ position }) => position <= now.at)
  const position = overtakenSince(now)
  if (position === undefined) return { open: openCalls(now), said: Infinity, rewinds }
  const deferred = lastUserMessages(now, yield* chat.later(position), position)
  return deferred
    ? { open: openCallsIn(deferred), said: firstMessageSince(now, deferred.before), rewinds }
    : { open: [], said: Infinity, rewinds }
}

export async function* rewindsAfter(
  chat: ConversationHandle,
  at: number,
): Fallible<ReadError, readonly RewindPoint[]> {
  const events = yield* chat.later(at)
  return events.flatMap((event, index) => {
    if (event.type !== 'Rewound') return []
    const isAlone = [events[index - 1], events[index + 1]].every(
      (other) => other?.metadata.commandId !== event.metadata.commandId,
    )
    return [{ position: event.position, to: event.data.to, isAlone }]
  })
}

/** Returns the position of the first user message in the history `now` that is not in the earlier one; Infinity if there is none. */
export const firstMessageSince = (now: Effective, { items }: Effective): number => {
  const before = new Set(items.map(({ position }) => position))
  return now.items.find((item) => !before.has(item.position) && isSaid(item))?.position ?? Infinity
}
