import type { Conversation } from '../../index.ts'

/** Returns the event at a position, or undefined if the conversation does not have that position. */
export const eventAt = async (chat: Conversation, position: number) => {
  for await (const event of chat.events({ from: position, to: position })) return event
  return undefined
}
