import type { ConversationHandle } from '../../conversation/conversation.ts'

/** The conversations that a worker last gave turns to, kept to save reading them again. */
export interface Chats {
  readonly of: (id: string) => ConversationHandle
  /** Keeps a conversation; `size` is the size of its cached content in characters of JSON. */
  readonly keep: (chat: ConversationHandle, size: number) => void
}

/** Limit on the size of all of them together, in characters of JSON. */
const mostOfAll = 16 * 1024 * 1024
/** Size counted for each conversation besides its history. */
const each = 2_000

export const chatsOf = (open: (id: string) => ConversationHandle, most = mostOfAll): Chats => {
  /** Kept conversations, ordered by last use. */
  const kept = new Map<string, { readonly chat: ConversationHandle; readonly size: number }>()
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
