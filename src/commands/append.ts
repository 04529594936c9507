import { acceptsData } from '../events/accept.ts'
import { type Block, textBlock } from '../events/blocks.ts'
import { isFields } from '../events/json.ts'
import type { Event } from '../events/events.ts'
import { tokensByBytes } from '../projections/tokens.ts'
import type { Command, NewMessage } from './command.ts'
import { withoutSecretParameters } from './configure.ts'

/**
 * Returns one event per message, in order, each followed by the message's edit, if any. Never rejects a message: the log records what
 * happened, and `render` makes a valid request from it.
 *
 * @param last position before the first of these events
 */
export const append = ({ messages }: Pick<Command<'append'>, 'messages'>, last: number): readonly Event[] => {
  const events: Event[] = []
  for (const message of messages) {
    const { shown, ...said } = message
    events.push({ type: 'MessageAppended', data: dataOf(said) })
    if (shown) events.push(editOf(said, shown, last + events.length))
  }
  return events
}

/** Reports whether any of the messages has an edit, that is, different content to show to the model. */
export const hasEdits = (messages: readonly NewMessage[]): boolean =>
  messages.some(({ shown }) => shown !== undefined)

/**
 * Reports whether a value is certainly a list of messages without edits. Nearly all lists are, and this check is faster than the
 * schema.
 */
export const areAccepted = (messages: unknown): messages is readonly NewMessage[] =>
  Array.isArray(messages) && messages.length > 0 && messages.every(isAccepted)

const isAccepted = (message: unknown): boolean =>
  isFields(message) &&
  message['shown'] === undefined &&
  acceptsData(
    'MessageAppended',
    typeof message['content'] === 'string' ? { ...message, content: [] } : message,
  )

const editOf = (
  { role, content: whole }: NewMessage,
  { content: given, policy }: NonNullable<NewMessage['shown']>,
  position: number,
): Event => {
  const content = blocksOf(given)
  const data = {
    covers: { first: position, last: position },
    messagesHidden: 1,
    tokens: { before: tokensByBytes(blocksOf(whole)), after: tokensByBytes(content) },
    summary: [{ role, content }],
    method: 'client' as const,
    ...(policy && { policy }),
  }
  return { type: 'Condensed', data }
}

/**
 * Returns the events that continue a conversation from an earlier position: a rewind to position `to`, the events in `again`, and the
 * messages.
 */
export const appendAfterRewind = (
  { messages, again = [] }: Pick<Command<'append'>, 'messages' | 'again'>,
  to: number,
  last: number,
): readonly Event[] => [
  { type: 'Rewound', data: { to, reason: 'messages that belong before what came' } },
  ...again.map(recorded),
  ...append({ messages }, last + 1 + again.length),
]

/**
 * Prepares an event to be recorded again. Removes secrets from a configuration, because it may be older than the rule that secrets are
 * not recorded.
 */
const recorded = (event: Event): Event =>
  event.type === 'Configured' ? { ...event, data: withoutSecretParameters(event.data) } : event

/**
 * Returns the events that record messages on an abandoned branch: a rewind to position `at`, the messages, and a rewind back to
 * position `last`.
 */
export const appendOnBranch = (
  messages: Command<'append'>['messages'],
  at: number,
  last: number,
): readonly Event[] => [
  { type: 'Rewound', data: { to: at, reason: 'messages that came too late' } },
  ...append({ messages }, last + 1),
  { type: 'Rewound', data: { to: last, reason: 'back from them' } },
]

const dataOf = (message: NewMessage): Event<'MessageAppended'>['data'] => ({
  ...message,
  content: blocksOf(message.content),
})

/** Returns message content as blocks; a string becomes one text block. */
export const blocksOf = (content: NewMessage['content']): readonly Block[] =>
  typeof content === 'string' ? [textBlock(content)] : content
