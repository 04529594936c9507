import type { Conversation, ConversationEvent, RecordedTurnFact, Roster } from '../index.ts'
import type { OutcomeMessage } from './turn-messages.ts'

/** Makes the outcome of a finished turn. `reply` is undefined if there was nothing to answer. */
export const finishedOutcome = (reply: ConversationEvent<'MessageAppended'> | undefined): OutcomeMessage => {
  if (!reply) return { outcome: 'done', detail: nothing }
  const { stopReason, usage } = reply.data.origin ?? {}
  return { outcome: 'done', position: reply.position, stopReason, usage }
}

const nothing = "there was nothing to answer: it is not the model's turn; append a user message first"

/** Makes the outcome of a turn whose request was abandoned by a rewind. */
export const rewoundBy = ({
  position,
  data: { to, reason },
}: ConversationEvent<'Rewound'>): OutcomeMessage => ({
  outcome: 'rewound',
  position,
  to,
  reason,
})

/** Facts about turns that were recorded after an answer was requested. */
export interface FactsSince {
  /**
   * Takes the next recorded fact.
   *
   * @returns true if the fact was recorded after the request
   */
  readonly see: (fact: RecordedTurnFact) => boolean
  /** Reports whether a fact that may end a turn was recorded after the request. */
  readonly hasEnded: () => boolean
  readonly cancelled: () => RecordedTurnFact<'TurnCancelled'> | undefined
}

/** Reports whether the fact may end a turn. */
export const mayEnd = ({ type }: RecordedTurnFact): boolean =>
  type === 'TurnReleased' || type === 'TurnParked' || type === 'TurnCancelled'

/**
 * Makes a collector of the facts recorded after a request. The facts are passed to it in order.
 *
 * @param request id of the command that requested the answer, because earlier facts may have the same position; undefined if the
 *   request was a message
 */
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
      // A cancellation does not end a turn that begins later.
      if (fact.type === 'TurnClaimed') cancelled = undefined
      if (fact.type === 'TurnCancelled') cancelled = fact
      return true
    },
    hasEnded: () => hasEnded,
    cancelled: () => cancelled,
  }
}

/** Progress of a requested turn, as sent to the client. */
export interface SoFar {
  /** Position of the last event sent. */
  readonly through: number
  readonly since: FactsSince
  readonly reply: ConversationEvent<'MessageAppended'> | undefined
}

/** Returns the outcome of a turn without a final reply, or undefined while there is still work to do or an event to send. */
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
  // A reader connected to another node of the database may not see a new request yet.
  if (!since.hasEnded()) return undefined
  const { by, reason } = since.cancelled()?.data ?? {}
  return since.cancelled() ? { outcome: 'cancelled', by, reason } : finishedOutcome(reply)
}
