import { isDeepStrictEqual } from 'node:util'
import { isError } from '../api/errors.ts'
import type { Conversation } from '../api/promises.ts'
import { type Message, START } from '../events/events.ts'
import type { NewMessage } from '../events/new-message.ts'
import { fieldsOf, messagesOf } from '../projections/effective.ts'

/** A message that the model sees, and the position of the event that shows it. */
export interface HistoryMessage {
  /** Role, content and the fields that only a program knows. */
  readonly message: Message & { readonly item?: unknown }
  readonly position: number
}

/** The messages of a conversation as the model sees them. */
export interface MessageHistory {
  /** Last position of the conversation; -1 if it does not exist. */
  readonly last: number
  readonly messages: readonly HistoryMessage[]
}

/** Reads the messages that the model sees, by default now. A conversation that does not exist has none. */
export const readHistory = async (chat: Conversation, at?: number): Promise<MessageHistory> => {
  try {
    const last = at ?? (await chat.position())
    const items = await chat.effective({ at: last })
    const messages = items.flatMap((item) =>
      messagesOf(item).map((message) => ({
        message: { role: message.role, content: message.content, ...fieldsOf(item, message) },
        position: item.position,
      })),
    )
    return { last, messages }
  } catch (error) {
    if (isError(error, 'ConversationNotFound')) return { last: START, messages: [] }
    throw error
  }
}

/**
 * Replaces the messages from an index on, in one write. If the conversation once ended right before them, it is rewound to there;
 * otherwise, as within a summary, the messages before them are appended again after a rewind to the start. Rejects with `StaleContext`
 * if anything was recorded since the history was read.
 *
 * @param again function that returns the messages before the index as they are appended again. Default: unchanged
 */
export const replaceMessages = async (
  chat: Conversation,
  { last, messages }: MessageHistory,
  from: number,
  added: readonly NewMessage[],
  commandId?: string,
  again = (): readonly NewMessage[] => messages.slice(0, from).map(({ message }) => message),
): Promise<void> => {
  const options = { after: last, commandId }
  const first = messages[from]
  if (!first) {
    if (added.length > 0) await chat.append(added, options)
    return
  }
  const kept = messages.slice(0, from)
  const before = first.position - 1
  const isBefore =
    before === START ? kept.length === 0 : isDeepStrictEqual((await readHistory(chat, before)).messages, kept)
  const [to, all] = isBefore ? [before, added] : [START, [...again(), ...added]]
  if (all.length > 0) await chat.append(all, { ...options, rewindTo: to })
  else await chat.rewind({ ...options, to })
}
