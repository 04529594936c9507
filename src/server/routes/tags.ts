import { createHash } from 'node:crypto'
import type { Conversation } from '../../index.ts'
import type { JsonResponse } from '../route.ts'

// What was true at a position stays true: such answers have strong ETags.

/** The event at a position, by which the whole history before it is known. */
export const eventAt = async (chat: Conversation, position: number) => {
  for await (const event of chat.events({ from: position, to: position })) return event
  return undefined
}

/** Names what is seen from a position in this way. */
const tagOf = async (chat: Conversation, position: number, way: object): Promise<string> => {
  const event = position < 0 ? undefined : await eventAt(chat, position)
  const text = JSON.stringify([chat.id, event?.id ?? 'empty', way])
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"`
}

/** An answer that is the same for ever, from this position, in this way. @param headers besides its ETag */
export const tagged = async (
  chat: Conversation,
  position: number,
  way: object,
  body: object,
  headers: JsonResponse['headers'] = {},
): Promise<JsonResponse> => ({
  headers: { ...headers, etag: await tagOf(chat, position, way) },
  body,
})
