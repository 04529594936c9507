import { isBlock } from '../events/blocks.ts'
import { type ConversationEvent, contentOf } from '../events/events.ts'

const titleLength = 80
/** Number of events at the beginning of a conversation that are searched for its title. */
export const titleWithin = 20

/** Returns the user's first text in these events, on one line. */
export const titleOf = (events: readonly ConversationEvent[]): string => {
  const texts = events
    .flatMap(contentOf)
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => content.flatMap((block) => (isBlock(block, 'text') ? [block.text] : [])))
  return oneLine(texts.find((text) => text.trim() !== '') ?? '')
}

/** Returns a title in the form shown in lists: on one line, with at most 80 characters. */
export const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return (line.length > titleLength ? `${line.slice(0, titleLength - 1)}…` : line).toWellFormed()
}
