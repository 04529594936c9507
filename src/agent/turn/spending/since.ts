import { beginsTurn, isTurn } from '../../../commands/state.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { type ConversationEvent, START } from '../../../events/events.ts'
import type { Effective } from '../../../projections/effective.ts'
import { resolve } from '../../../projections/path.ts'
import { catchTyped, type Fallible } from '../../../result/fallible.ts'
import type { ReadError } from '../../../store/errors.ts'

/** Number of events in the first page, read from the end. Each further page is twice as large. */
const firstPage = 32

/**
 * Returns the events on the path since the user's last message, oldest first. Includes events hidden by markers, even if the message
 * itself is hidden. Reads nothing if the message is the last event; otherwise reads about as many events as it returns.
 */
export async function* sinceUserMessage(
  chat: Pick<ConversationHandle, 'events'>,
  { at, head, items }: Effective,
): Fallible<ReadError, readonly ConversationEvent[]> {
  const last = items.at(-1)
  if (last?.kind === 'message' && last.position === head && isTurn(last)) return []
  const log: ConversationEvent[] = []
  const path: ConversationEvent[] = []
  let size = firstPage
  let place = at
  while (place > START) {
    if (!log[place]) {
      const range = { from: Math.max(0, place - size + 1), to: place }
      yield* catchTyped<ReadError, void>(async () => {
        for await (const each of chat.events(range)) log[each.position] = each
      })
      size *= 2
    }
    const found = resolve(log, place)
    const event = log[found]
    if (event && beginsTurn(event)) break
    if (event) path.push(event)
    // A rewind may lead to a position before the events read so far.
    place = event ? found - 1 : found
  }
  return path.toReversed()
}
