import type { ConversationHandle } from '../../conversation/conversation.ts'

/** Conversations in which a worker most recently ran turns, cached to avoid reading them again. */
export interface Chats {
  readonly of: (id: string) => ConversationHandle
  /** Caches a conversation; `size` is the size of its history in characters of JSON. */
  readonly keep: (chat: ConversationHandle, size: number) => void
}

/** Maximum total size of all cached conversations, in characters of JSON. */
const mostOfAll = 16 * 1024 * 1024
/** Size counted for each conversation in addition to its history, in characters of JSON. */
const each = 2_000

export const chatsOf = (open: (id: string) => ConversationHandle, most = mostOfAll): Chats => {
  /** Cached conversations, least recently cached first. */
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
