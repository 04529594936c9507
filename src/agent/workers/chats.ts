import type { Conversation } from '../../conversation/conversation.ts'

/** The conversations that a worker gave turns to last: what it has read of them it need not read again. */
export interface Chats {
  readonly of: (id: string) => Conversation
  /** Keeps a conversation, of which so much is kept, in characters of JSON. */
  readonly keep: (chat: Conversation, size: number) => void
}

/** Characters of JSON of all of them together. */
const mostOfAll = 16 * 1024 * 1024
/** What one counts besides its history. */
const each = 2_000

export const chatsOf = (open: (id: string) => Conversation, most = mostOfAll): Chats => {
  /** By their last use. */
  const kept = new Map<string, { readonly chat: Conversation; readonly size: number }>()
  let total = 0

  const forget = (id: string): void => {
    total -= kept.get(id)?.size ?? 0
    kept.delete(id)
  }

  return {
    of: (id) => kept.get(id)?.chat ?? open(id),
    keep: (chat, its) => {
      forget(chat.id)
      const size = its + each
      kept.set(chat.id, { chat, size })
      total += size
      for (const oldest of kept.keys()) {
        if (total <= most) break
        forget(oldest)
      }
    },
  }
}
