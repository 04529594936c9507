import type { Conversation, ConversationEvent, RecordedTurnFact, Roster } from '../index.ts'
import type { OutcomeMessage } from './turn-messages.ts'

/** The model has finished, or there was nothing to answer. */
export const doneWith = (reply: ConversationEvent<'MessageAppended'> | undefined): OutcomeMessage => {
  const { stopReason, usage } = reply?.data.origin ?? {}
  return { outcome: 'done', position: reply?.position, stopReason, usage }
}

/** What was asked is no longer in the conversation. */
export const rewoundBy = ({
  position,
  data: { to, reason },
}: ConversationEvent<'Rewound'>): OutcomeMessage => ({
  outcome: 'rewound',
  position,
  to,
  reason,
})

/** What is recorded of turns since an answer was asked for. */
export interface FactsSince {
  /** @returns whether the fact is since then */
  readonly see: (fact: RecordedTurnFact) => boolean
  /** Something was recorded that may end a turn. */
  readonly hasEnded: () => boolean
  readonly cancelled: () => RecordedTurnFact<'TurnCancelled'> | undefined
}

/** Facts that may end a turn. */
export const mayEnd = ({ type }: RecordedTurnFact): boolean =>
  type === 'TurnReleased' || type === 'TurnParked' || type === 'TurnCancelled'

/** @param request the command whose fact has asked for it, before which others may be of the same position; undefined for a message */
export const factsSince = (request: string | undefined): FactsSince => {
  let isSince = request === undefined
  let hasEnded = false
  let cancelled: RecordedTurnFact<'TurnCancelled'> | undefined
  return {
    see: (fact) => {
      if (!isSince) {
        isSince = fact.metadata.commandId === request
        return false
      }
      hasEnded ||= mayEnd(fact)
      // A cancellation ends no turn that begins later.
      if (fact.type === 'TurnClaimed') cancelled = undefined
      if (fact.type === 'TurnCancelled') cancelled = fact
      return true
    },
    hasEnded: () => hasEnded,
    cancelled: () => cancelled,
  }
}

/** What a turn came to so far. */
export interface SoFar {
  /** Events were told through this position. */
  readonly through: number
  readonly since: FactsSince
  readonly reply: ConversationEvent<'MessageAppended'> | undefined
}

/** How a turn ended that has left no final reply; undefined while something is left to do, or to tell. */
export const outcomeOf = async (
  chat: Conversation,
  roster: () => Promise<Roster>,
  { through, since, reply }: SoFar,
): Promise<OutcomeMessage | undefined> => {
  const step = (await roster()).steps.find(({ conversation }) => conversation === chat.id)
  const { state, attempt: attempts = 0, errors = [] } = step ?? {}
  if (state === 'open' || state === 'claimed' || through < (await chat.position())) return undefined
  if (state === 'parked') return { outcome: 'parked', attempts, errors, error: errors.at(-1) }
  if (state === 'waiting') {
    const calls = await chat.waiting()
    return calls.length > 0 ? { outcome: 'waiting', calls } : undefined
  }
  // Whoever has just asked may not be seen yet by a reader of another node.
  if (!since.hasEnded()) return undefined
  const { by, reason } = since.cancelled()?.data ?? {}
  return since.cancelled() ? { outcome: 'cancelled', by, reason } : doneWith(reply)
}
