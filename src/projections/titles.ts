import { isBlock } from '../events/blocks.ts'
import { type ConversationEvent, contentOf } from '../events/events.ts'

const titleLength = 80
/** Number of events at the beginning of a conversation that are searched for its title. */
export const titleWithin = 20

const reminder = { begin: '<system-reminder>', end: '</system-reminder>' }

/** Returns a text without the reminders before it, which a client or its hooks put in front of the user's own words. */
const ownWords = (text: string): string => {
  const own = text.trimStart()
  if (!own.startsWith(reminder.begin)) return own
  const end = own.indexOf(reminder.end)
  return end < 0 ? '' : ownWords(own.slice(end + reminder.end.length))
}

/** Returns the user's first own words in these events, on one line. */
export const titleOf = (events: readonly ConversationEvent[]): string => {
  const texts = events
    .flatMap(contentOf)
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) =>
      content.flatMap((block) => (isBlock(block, 'text') ? [ownWords(block.text)] : [])),
    )
  return oneLine(texts.find((text) => text.trim() !== '') ?? '')
}

/** Returns a title in the form shown in lists: on one line, with at most 80 characters. */
export const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return (line.length > titleLength ? `${line.slice(0, titleLength - 1)}…` : line).toWellFormed()
}
