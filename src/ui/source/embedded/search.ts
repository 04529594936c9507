import {
  type ConversationEvent,
  foundIn,
  kindOf,
  type MessageHit,
  type MessageHits,
  type Log,
  type TitleHit,
  type EntryVisibility,
} from '../../../core.ts'
import type { EmbeddedFile } from './form.ts'
import { statesAt } from './hidden-states.ts'
import { titleOf } from './title.ts'

interface Found extends MessageHits {
  readonly last: number
  readonly indexed: number
}

/**
 * Searches a conversation before position `before`, newest first. Returns at most `most` hits, in the format of the server's `search`
 * route.
 */
export const searchEmbedded = (file: EmbeddedFile, text: string, most: number, before = Infinity): Found => {
  const { conversation, events: log } = file
  const titles = before === Infinity ? titlesWith(file, text) : []
  const last = log.length - 1
  const now = statesAt(log, last)
  const items: MessageHit[] = []
  for (let position = Math.min(before, log.length) - 1; position >= 0; position--) {
    const event = log[position]
    const excerpt = event && text !== '' ? foundIn(event, text) : undefined
    if (!event || !excerpt) continue
    if (items.length === most) return { titles, items, next: String(position + 1), last, indexed: last }
    items.push({
      conversation,
      position,
      kind: kindOf(event),
      time: event.metadata.time,
      excerpt,
      now: now.get(position) ?? shown,
      then: stateThen(log, position),
    })
  }
  return { titles, items, last, indexed: last }
}

/** Returns the title as a hit if it contains the text. */
const titlesWith = (file: EmbeddedFile, text: string): readonly TitleHit[] => {
  const title = titleOf(file)
  const excerpt = title === undefined || text === '' ? undefined : foundIn(title, text)
  return excerpt ? [{ conversation: file.conversation, time: file.written, excerpt }] : []
}

const shown: EntryVisibility = { state: 'shown' }

/** Returns the visibility of an entry to the model at the first reply after it; if no reply follows, at the last position. */
const stateThen = (log: Log, position: number): EntryVisibility => {
  const reply = log.findIndex((event, at) => at > position && isReply(event))
  const at = reply < 0 ? log.length - 1 : reply - 1
  const isTurned = log.slice(position + 1, at + 1).some((event) => 'CTWRK'.includes(kindOf(event)))
  return (isTurned ? statesAt(log, at).get(position) : undefined) ?? shown
}

const isReply = (event: ConversationEvent): boolean => 'ac'.includes(kindOf(event))
