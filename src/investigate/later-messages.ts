import { contentOf, type ConversationEvent } from '../events/events.ts'
import type { PlacedMessage } from './marker-story.ts'

/** Maximum number of messages that are read after a marker, and of their bytes. */
const mostLater = 4_000
const mostBytes = 16 * 1024 * 1024

/** Reader of the events after a marker, in order. */
export interface LaterReader {
  /** Takes the next event. Returns false if no more are needed. */
  readonly take: (event: ConversationEvent) => boolean
  /** Messages read so far, and true unless the limits left some out. */
  readonly read: () => { readonly messages: readonly PlacedMessage[]; readonly isAll: boolean }
}

/** Reads the messages after a marker until a restore or rewind undoes the marker. Messages that rewinds abandoned are left out. */
export const createLaterReader = (marker: number): LaterReader => {
  const messages: PlacedMessage[] = []
  const targets = new Map<number, number>()
  let [bytes, isAll] = [0, true]
  return {
    take: (event) => {
      if (event.type === 'Restored' && event.data.marker === marker) return false
      if (event.type === 'Rewound') {
        let { to } = event.data
        for (let next = targets.get(to); next !== undefined; next = targets.get(to)) to = next
        targets.set(event.position, to)
        if (to < marker) return false
        while ((messages.at(-1)?.position ?? -1) > to) messages.pop()
        return true
      }
      messages.push(...messagesIn(event))
      bytes += event.type === 'MessageAppended' ? JSON.stringify(event.data).length : 0
      isAll = messages.length < mostLater && bytes <= mostBytes
      return isAll
    },
    read: () => ({ messages, isAll }),
  }
}

/** Returns the messages of an event, with its position. */
export const messagesIn = (event: ConversationEvent): readonly PlacedMessage[] =>
  event.type === 'MessageAppended'
    ? contentOf(event).map((message) => ({ ...message, position: event.position }))
    : []
