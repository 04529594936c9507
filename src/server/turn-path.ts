import type { ConversationEvent } from '../index.ts'
import { messageOf } from '../events/events.ts'
import { isFinal } from '../agent/workers/board/seen-event.ts'
import type { OutcomeMessage } from './turn-messages.ts'
import { finishedOutcome, rewoundBy } from './turn-outcome.ts'

/** A request for an answer: its position in the conversation and, if it was made with a message, that message. */
export interface AskedAt {
  /** Last position of the conversation at the time of the request. */
  readonly position: number
  readonly message: ConversationEvent<'MessageAppended'> | undefined
}

/** State of a request for an answer, derived from the events seen so far. */
export interface TurnPath {
  readonly see: (event: ConversationEvent) => void
  /** Returns the newest reply that is still on the path of the conversation. */
  readonly reply: () => ConversationEvent<'MessageAppended'> | undefined
  /**
   * Returns the outcome if the events determine it, because the model has finished or the conversation was rewound to before the
   * request.
   */
  readonly outcome: (position: () => Promise<number>) => Promise<OutcomeMessage | undefined>
}

/** State of a request right after an event. `isOn` is true if the request is still on the path; `reply` is the newest reply to it. */
interface Place {
  readonly isOn: boolean
  readonly reply: ConversationEvent<'MessageAppended'> | undefined
}

/** Makes the state of a request for an answer. The state follows the path of the conversation through rewinds. */
export const turnPath = ({ position: first, message }: AskedAt): TurnPath => {
  const places: Place[] = [{ isOn: true, reply: undefined }]
  let rewound: ConversationEvent<'Rewound'> | undefined

  /**
   * Reports whether an event is a copy of the requested message. To record something before a message that was appended in the
   * meantime, a turn rewinds and appends a copy of that message in the same write.
   */
  const isCopy = (event: ConversationEvent<'MessageAppended'>): boolean =>
    message !== undefined &&
    rewound?.metadata.commandId === event.metadata.commandId &&
    JSON.stringify(messageOf(event).content) === JSON.stringify(messageOf(message).content)

  const placeAfter = (event: ConversationEvent, last: Place): Place => {
    if (event.type === 'Rewound')
      return places[event.data.to - first] ?? { isOn: event.data.to >= first, reply: undefined }
    if (event.type !== 'MessageAppended') return last
    if (event.data.role === 'assistant') return { ...last, reply: event }
    return !last.isOn && isCopy(event) ? { isOn: true, reply: undefined } : last
  }

  const last = (): Place => places.at(-1) ?? { isOn: true, reply: undefined }
  return {
    see: (event) => {
      places[event.position - first] = placeAfter(event, last())
      if (event.type === 'Rewound') rewound = event
    },
    reply: () => last().reply,
    outcome: async (position) => {
      const { isOn, reply } = last()
      if (isOn) return reply && isFinal(messageOf(reply)) ? finishedOutcome(reply) : undefined
      // The write that contains the rewind may also append a copy of the message, so all its events must be seen first.
      return rewound && first + places.length > (await position()) ? rewoundBy(rewound) : undefined
    },
  }
}
