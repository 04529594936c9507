import type { Conversation, ConversationEvent, Written } from '../index.ts'
import type { Session } from './shell.ts'
import { eventParts } from './views/timeline.ts'

/** The position asked for, else the last one, so that an answer can say what moment it is about. */
export const positionAt = async (chat: Conversation, at: number | undefined): Promise<number> =>
  at ?? (await chat.position())

/** Every event of the conversation, in memory. */
export const logOf = async (chat: Conversation): Promise<readonly ConversationEvent[]> => {
  const log: ConversationEvent[] = []
  for await (const event of chat.events()) log.push(event)
  return log
}

/** Answers a writer: the events that it wrote, as the timeline shows them. */
export const writeWritten = async (
  { out, isJson }: Session,
  chat: Conversation,
  written: Written,
): Promise<void> => {
  if (isJson) return out.json(written)
  const first = written.events[0]
  if (!first) return out.line(['nothing had to be written', 'dim'])
  for await (const event of chat.events({ from: first.position, to: written.position }))
    await out.parts(eventParts(event))
}
