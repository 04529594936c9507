import type { ConversationEvent } from '../index.ts'
import { messageOf } from '../events/events.ts'
import { isFinal } from '../agent/workers/seen.ts'
import type { OutcomeMessage } from './turn-messages.ts'
import { doneWith, rewoundBy } from './turn-outcome.ts'

/** What is asked of workers: a place in a conversation, and the message there, if it is a message. */
export interface AskedAt {
  /** The last position when it was asked. */
  readonly position: number
  readonly message: ConversationEvent<'MessageAppended'> | undefined
}

/** What has come of it by the events told so far. */
export interface TurnPath {
  readonly see: (event: ConversationEvent) => void
  /** The newest reply that is still in the conversation. */
  readonly reply: () => ConversationEvent<'MessageAppended'> | undefined
  /** How it ended, if the events say so: the model has finished, or the conversation was rewound to before what was asked. */
  readonly outcome: (position: () => Promise<number>) => Promise<OutcomeMessage | undefined>
}

/** What the path of a conversation was right after an event. */
interface Place {
  readonly isOn: boolean
  readonly reply: ConversationEvent<'MessageAppended'> | undefined
}

/** Follows what was asked along the path of its conversation, through rewinds. */
export const turnPath = ({ position: first, message }: AskedAt): TurnPath => {
  const places: Place[] = [{ isOn: true, reply: undefined }]
  let rewound: ConversationEvent<'Rewound'> | undefined

  /** What a turn records before what was said meanwhile, it records with a copy of that: in the same write, after a rewind. */
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
      if (isOn) return reply && isFinal(messageOf(reply)) ? doneWith(reply) : undefined
      // The same write may say it again.
      return rewound && first + places.length > (await position()) ? rewoundBy(rewound) : undefined
    },
  }
}
