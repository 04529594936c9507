import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { type ConversationEvent, START } from '../../../events/events.ts'
import { isFinal } from '../../../projections/final.ts'
import { catchTyped, type Fallible } from '../../../result/fallible.ts'
import type { ReadError } from '../../../store/errors.ts'

/** Requests to workers for a turn of the conversation, and its last final reply, according to the conversation's log. */
export interface TurnDemand {
  /** Position of the last final reply on any branch; `START` if there is none. */
  readonly final: number
  /** True if an event after the last final reply requests an answer. */
  readonly isAsked: boolean
  /** Id of the command that recorded the last final reply: later events of the same command belong to the same turn. */
  readonly overBy?: string | undefined
}

export const nothingAsked: TurnDemand = { final: START, isAsked: false }

/** Returns the demand after an event that requests nothing and does not belong to the command of the last final reply. */
export const afterOther = ({ final, isAsked, overBy }: TurnDemand): TurnDemand => ({
  final,
  isAsked: isAsked && overBy === undefined,
})

export const demandAfter = (before: TurnDemand, event: ConversationEvent): TurnDemand => {
  const { commandId, answer } = event.metadata
  // A fork does not inherit its parent's requests.
  if (event.type === 'Forked') return { final: event.position, isAsked: answer !== undefined }
  const isOver = before.overBy !== undefined && before.overBy !== commandId
  const isAsked = answer !== undefined || (before.isAsked && !isOver)
  if (isFinal(event)) return { final: event.position, isAsked, overBy: commandId }
  // A user message that the same command recorded after the reply still has to be answered.
  const isOpen = isOver || (event.type === 'MessageAppended' && event.data.role === 'user')
  return { final: before.final, isAsked, ...(!isOpen && { overBy: before.overBy }) }
}

/** Number of events in the first page, read from the end. Each further page is twice as large. */
const firstPage = 32

/** Returns the demand for turns as of a position. Reads backwards to the last final reply or the `Forked` event. */
export async function* demandUpTo(
  chat: Pick<ConversationHandle, 'events'>,
  at: number,
): Fallible<ReadError, TurnDemand> {
  let events: readonly ConversationEvent[] = []
  for (let size = firstPage, from = at + 1; from > START + 1; size *= 2) {
    const to = from - 1
    from = Math.max(0, to - size + 1)
    const page: ConversationEvent[] = []
    const range = { from, to }
    yield* catchTyped<ReadError, void>(async () => {
      for await (const event of chat.events(range)) page.push(event)
    })
    events = [...page, ...events]
    if (events.some((event) => event.type === 'Forked' || isFinal(event))) break
  }
  return events.reduce(demandAfter, nothingAsked)
}
