import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { type ConversationEvent, START } from '../../../events/events.ts'
import { isFinal } from '../../../projections/final.ts'
import { catchTyped, type Steps } from '../../../result/steps.ts'
import type { ReadError } from '../../../store/errors.ts'

/** State of a conversation's turns according to its log: whether workers are requested to give one, and which have ended. */
export interface TurnDemand {
  /** Position of the last final reply, on any branch; START if there is none. */
  readonly final: number
  /** True if an event recorded since then requests an answer. */
  readonly isAsked: boolean
  /** Command that recorded that reply: its later events belong to the same turn. */
  readonly overBy?: string | undefined
}

export const nothingAsked: TurnDemand = { final: START, isAsked: false }

/** Returns the state after an event of another command that requests nothing. */
export const afterOther = ({ final, isAsked, overBy }: TurnDemand): TurnDemand => ({
  final,
  isAsked: isAsked && overBy === undefined,
})

export const demandAfter = (before: TurnDemand, event: ConversationEvent): TurnDemand => {
  const { commandId, answer } = event.metadata
  // What was asked of the parent is not asked of its fork.
  if (event.type === 'Forked') return { final: event.position, isAsked: answer !== undefined }
  const isOver = before.overBy !== undefined && before.overBy !== commandId
  const isAsked = answer !== undefined || (before.isAsked && !isOver)
  if (isFinal(event)) return { final: event.position, isAsked, overBy: commandId }
  // What the same command says after the reply is still to be answered.
  const isOpen = isOver || (event.type === 'MessageAppended' && event.data.role === 'user')
  return { final: before.final, isAsked, ...(!isOpen && { overBy: before.overBy }) }
}

/** Number of events read first, from the end; doubled for each further page. */
const firstPage = 32

/** Returns the requests up to a position. Reads back to the last final reply. */
export async function* demandUpTo(
  chat: Pick<ConversationHandle, 'events'>,
  at: number,
): Steps<ReadError, TurnDemand> {
  let events: readonly ConversationEvent[] = []
  for (let size = firstPage, from = at + 1; from > START + 1; size *= 2) {
    const to = from - 1
    from = Math.max(0, to - size + 1)
    events = [...(yield* eventsIn(chat, { from, to })), ...events]
    if (events.some((event) => event.type === 'Forked' || isFinal(event))) break
  }
  return events.reduce(demandAfter, nothingAsked)
}

const eventsIn = (
  chat: Pick<ConversationHandle, 'events'>,
  range: { readonly from: number; readonly to: number },
): Steps<ReadError, readonly ConversationEvent[]> =>
  catchTyped(async () => {
    const events: ConversationEvent[] = []
    for await (const event of chat.events(range)) events.push(event)
    return events
  })
