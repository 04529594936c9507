import type { Block } from '../../events/blocks.ts'
import type { Role } from '../../events/events.ts'
import { type Effective, type Item, messagesOf } from '../effective.ts'
import { prefixUnchanged } from './thinking.ts'

/** A message of a request. */
export interface RenderedMessage {
  readonly role: Role
  readonly content: readonly Block[]
}

/** What is said next: a message of an item, with what decides how it may be shown. */
export interface Utterance extends RenderedMessage {
  readonly position: number
  /** Whether the thinking in it was produced under what the request holds before it. */
  readonly unchanged: boolean
  /** Names the model's reply that this is a part of: consecutive parts of one reply are one message. */
  readonly reply: string | undefined
  /** The position of the history that the reply is the answer to, where that was recorded. */
  readonly answers: number | undefined
  /** A summary, whose compaction block stands for everything before it. */
  readonly summary: boolean
  /** A turn that the model paused: the request goes on with it, and it cannot end in white space. */
  readonly paused: boolean
  /** A text of render's own: joining it to a message is no repair. */
  readonly note: boolean
}

/** What the effective history says, message by message. `notes`: also that messages are left out, where a truncation did it. */
export const utterancesOf = (effective: Effective, notes: boolean): readonly Utterance[] => {
  const unchanged = prefixUnchanged(effective)
  return effective.items.flatMap((item) => utterancesIn(item, unchanged(item), notes))
}

/** What an item says. */
export const utterancesIn = (item: Item, unchanged: boolean, notes: boolean): readonly Utterance[] => {
  const { position } = item
  if (item.kind === 'truncation') {
    const text = `[${item.messagesHidden} earlier ${item.messagesHidden === 1 ? 'message is' : 'messages are'} not shown.]`
    const content: readonly Block[] = [{ type: 'text', text }]
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

/** An edit in place is a message as any other: a compaction that it holds stands for nothing, as it did in the message. */
const isSummary = (item: Item): boolean =>
  item.kind === 'summary' && (item.method === 'provider' || item.covers.first !== item.covers.last)
