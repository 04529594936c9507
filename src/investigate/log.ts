import type { ConversationEvent } from '../events/events.ts'
import type { Log } from '../projections/path.ts'

/** Reads every event of a conversation into memory, including those inherited by a fork. Throws a `ReadError`. */
export const logOf = async (chat: {
  readonly events: () => AsyncIterable<ConversationEvent>
}): Promise<Log> => {
  const log: ConversationEvent[] = []
  for await (const event of chat.events()) log.push(event)
  return log
}
