import { createHash } from 'node:crypto'
import type { Conversation } from '../../index.ts'
import type { JsonResponse } from '../route.ts'

// Strong ETags for views at a position, which never change.

/**
 * Returns the event at a position, or undefined if the conversation does not have that position. The event identifies the whole history
 * before it.
 */
export const eventAt = async (chat: Conversation, position: number) => {
  for await (const event of chat.events({ from: position, to: position })) return event
  return undefined
}

/** Makes the ETag of a view of a conversation at a position. */
const tagOf = async (chat: Conversation, position: number, way: object): Promise<string> => {
  const event = position < 0 ? undefined : await eventAt(chat, position)
  const text = JSON.stringify([chat.id, event?.id ?? 'empty', way])
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`
}

/**
 * Makes the response for a view of a conversation at a position. Such a view never changes, so the response has a strong ETag.
 *
 * @param headers headers besides the ETag
 */
export const immutableResponse = async (
  chat: Conversation,
  position: number,
  way: object,
  body: object,
  headers: JsonResponse['headers'] = {},
): Promise<JsonResponse> => ({
  headers: { ...headers, etag: await tagOf(chat, position, way) },
  body,
})
