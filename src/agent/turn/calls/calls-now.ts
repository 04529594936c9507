import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { Effective } from '../../../projections/effective.ts'
import type { Steps } from '../../../result/steps.ts'
import type { ReadError } from '../../../store/errors.ts'
import type { RewindPoint } from './call-states.ts'
import { type DeferredMessages, isSaid, overtakenSince, lastUserMessages } from './deferred-messages.ts'
import { type OpenCall, openCalls } from './open-calls.ts'
import { openCallsIn } from './said-results.ts'

/** The calls without a result at the end of a history, and the events since they were made. */
export interface CallsNow {
  readonly open: readonly OpenCall[]
  /** The user's messages after them. */
  readonly held?: DeferredMessages | undefined
  /** Position of the first of those; Infinity if there are none. */
  readonly said: number
  /** Rewinds after the given position, through the history's position. */
  readonly rewinds: readonly RewindPoint[]
}

/** @param since position after which rewinds matter */
export async function* callsNow(
  chat: ConversationHandle,
  now: Effective,
  since = now.at,
): Steps<ReadError, CallsNow> {
  const rewinds = (yield* rewindsAfter(chat, since)).filter(({ position }) => position <= now.at)
  const position = overtakenSince(now)
  if (position === undefined) return { open: openCalls(now), said: Infinity, rewinds }
  const held = lastUserMessages(now, yield* chat.later(position), position)
  return held
    ? { open: openCallsIn(held), held, said: firstMessageSince(now, held.before), rewinds }
    : { open: [], said: Infinity, rewinds }
}

export async function* rewindsAfter(
  chat: ConversationHandle,
  at: number,
): Steps<ReadError, readonly RewindPoint[]> {
  const events = yield* chat.later(at)
  return events.flatMap((event, index) => {
    if (event.type !== 'Rewound') return []
    const isAlone = [events[index - 1], events[index + 1]].every(
      (other) => other?.metadata.commandId !== event.metadata.commandId,
    )
    return [{ position: event.position, to: event.data.to, isAlone }]
  })
}

/** Returns the position of the user's first message in a history that is absent from the one before; Infinity if there is none. */
export const firstMessageSince = (now: Effective, { items }: Effective): number => {
  const before = new Set(items.map(({ position }) => position))
  return now.items.find((item) => !before.has(item.position) && isSaid(item))?.position ?? Infinity
}
