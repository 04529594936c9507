import * as E from 'fp-ts/lib/Either.js'
import { type Block, textBlock } from '../events/blocks.ts'
import { invalidInput } from '../events/errors.ts'
import { isMarkerOrRestore } from '../events/event-traits.ts'
import { isFields } from '../events/json.ts'
import type { Event } from '../events/events.ts'
import { tokensByBytes } from '../projections/tokens.ts'
import type { Command, ConversationCommand, NewMessage } from './command.ts'
import { withoutSecretParameters } from './configure.ts'
import { conversationNotFound, outOfRange, type CommandRejection, staleContext } from './rejections.ts'
import type { AppendState } from './state.ts'

/** Decides an append without edits, which requires only the end of the conversation. Avoids `pipe`, because this is the hot path. */
export const decideAppend = (
  command: Command<'append'>,
  tail: AppendState,
): E.Either<CommandRejection<'append'>, readonly Event[]> => {
  const stale = checkFence(command, tail)
  if (E.isLeft(stale)) return stale
  const { messages, branchAt, rewindTo, again } = command
  const { conversation, last } = tail
  const position = branchAt ?? rewindTo
  if (again && rewindTo === undefined)
    return E.left(invalidInput('again', 'can only be used together with rewindTo'))
  if (position === undefined) return E.right(append(command, last))
  if (branchAt !== undefined && rewindTo !== undefined)
    return E.left(invalidInput('branchAt', 'cannot be combined with rewindTo'))
  if (last < 0) return E.left(conversationNotFound(conversation))
  if (position > last) return E.left(outOfRange(conversation, position, last))
  return E.right(
    branchAt === undefined
      ? appendAfterRewind(command, position, last)
      : appendOnBranch(messages, position, last),
  )
}

/**
 * Checks that the conversation still ends where the command was decided (`after`), or that only tolerated events came after it.
 */
export const checkFence = (
  { after, tolerate }: ConversationCommand,
  { conversation, last, since }: AppendState,
): E.Either<CommandRejection<'configure'>, void> => {
  if (after === undefined || after === last) return E.right(undefined)
  const isTolerable =
    tolerate === 'markers' && after < last && since.every((type) => isMarkerOrRestore({ type }))
  return isTolerable ? E.right(undefined) : E.left(staleContext(conversation, after, last))
}

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

/** Reports whether a command is an append that does not depend on the effective history. */
export const isAppend = (command: ConversationCommand): command is Command<'append'> =>
  command.type === 'append' && !hasEdits(command.messages)

/** Reports whether a command is an append that depends only on the conversation's end. */
export const isBlind = (command: ConversationCommand): command is Command<'append'> =>
  isAppend(command) && (command.after === undefined || command.tolerate === undefined)

/** Reports whether any of the messages has an edit, that is, different content to show to the model. */
const hasEdits = (messages: readonly NewMessage[]): boolean =>
  messages.some(({ shown }) => shown !== undefined)

/** Reports whether a value has the form of a list of messages without edits. Their fields are checked when they are encoded. */
export const areUnedited = (messages: unknown): messages is readonly NewMessage[] =>
  Array.isArray(messages) && messages.length > 0 && messages.every(isUnedited)

const isUnedited = (message: unknown): boolean => {
  if (!isFields(message) || message['shown'] !== undefined) return false
  const { content } = message
  return typeof content === 'string' || Array.isArray(content)
}

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
