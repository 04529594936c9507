import { type Block, textBlock } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import { type Item, messagesOf } from '../effective.ts'

/** A message of a request. */
export interface RenderedMessage {
  readonly role: Role
  readonly content: readonly Block[]
}

/** A message of an item, with everything that decides how it may be shown. */
export interface Utterance extends RenderedMessage {
  readonly position: number
  /** True if the request contains the same content before it as when its thinking was produced. */
  readonly unchanged: boolean
  /** Id of the model's reply that this is a part of: consecutive parts of one reply form one message. */
  readonly reply: string | undefined
  /** Position of the history that the reply answers, if recorded. */
  readonly answers: number | undefined
  /** True for a summary, whose compaction block replaces everything before it. */
  readonly summary: boolean
  /** True for a turn that the model paused: it will be continued, so it cannot end in white space. */
  readonly paused: boolean
  /** True for a text added by render: joining it to a message is not a repair. */
  readonly note: boolean
}

/** Returns the messages of an item, one by one. `notes`: with a note in place of a truncation. */
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
  return messagesOf(item).map(({ role, content }) => ({
    role,
    content,
    position,
    unchanged,
    reply,
    answers,
    summary: isSummary(item),
    paused,
    note: false,
  }))
}

/** True for a summary. An edit in place counts as a message: a compaction block in it replaces nothing, as in the message. */
const isSummary = (item: Item): boolean =>
  item.kind === 'summary' && (item.method === 'provider' || item.covers.first !== item.covers.last)
