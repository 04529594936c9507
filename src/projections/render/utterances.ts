import { type Block, textBlock } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import type { Fields } from '../../events/json.ts'
import { fieldsOf, type Item, messagesOf } from '../effective.ts'

/** A message of a request. */
export interface RenderedMessage {
  readonly role: Role
  readonly content: readonly Block[]
  /** Settings that hold from this message on; only a system message has any. */
  readonly output_config?: unknown
}

/** A message of an item, with everything that determines how the message may be shown. */
export interface Utterance extends RenderedMessage {
  readonly position: number
  /** The recorded fields of the message, other than role and content. */
  readonly fields: Fields | undefined
  /** True if the request has the same content before the message as when the message's thinking was produced. */
  readonly unchanged: boolean
  /** Id of the model's reply to which the message belongs. Consecutive parts of one reply form one message of the request. */
  readonly reply: string | undefined
  /** Position of the history from which the reply's request was made, if recorded. */
  readonly answers: number | undefined
  /** True for a summary: a compaction block in it replaces everything before it. */
  readonly summary: boolean
  /** True for a reply that the model paused. It will be continued, so it cannot end in white space. */
  readonly paused: boolean
  /** True for a text added by render. Joining it to a message is not a repair. */
  readonly note: boolean
}

/** Returns the messages of an item, in order. With `notes`, a note takes the place of a truncation. */
export const utterancesIn = (item: Item, unchanged: boolean, notes: boolean): readonly Utterance[] => {
  const { position } = item
  if (item.kind === 'truncation') {
    const text = `[${item.messagesHidden} earlier ${item.messagesHidden === 1 ? 'message is' : 'messages are'} not shown.]`
    const content: readonly Block[] = [textBlock(text)]
    return notes
      ? [
          {
            role: 'user',
            content,
            position,
            fields: undefined,
            unchanged,
            reply: undefined,
            answers: undefined,
            summary: false,
            paused: false,
            note: true,
          },
        ]
      : []
  }
  const reply = item.kind === 'message' ? item.origin?.requestId : undefined
  const answers = item.kind === 'message' ? item.origin?.context?.position : undefined
  const paused =
    item.kind === 'message' && item.role === 'assistant' && item.origin?.stopReason === 'pause_turn'
  return messagesOf(item).map((message) => ({
    role: message.role,
    content: message.content,
    position,
    fields: fieldsOf(item, message),
    unchanged,
    reply,
    answers,
    summary: isSummary(item),
    paused,
    note: false,
  }))
}

/**
 * Reports whether an item counts as a summary. An edit in place counts as a message: a compaction block in it replaces nothing, as in
 * the original message.
 */
const isSummary = (item: Item): boolean =>
  item.kind === 'summary' && (item.method === 'provider' || item.covers.first !== item.covers.last)
