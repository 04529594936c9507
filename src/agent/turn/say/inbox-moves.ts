import { START } from '../../../events/events.ts'
import type { Conversation } from '../../../conversation/conversation.ts'
import type { QueuedMessage } from '../../../conversation/beside/inbox.ts'
import { ok, type Steps } from '../../../result/steps.ts'
import type { WriteError } from '../../../store/errors.ts'

/**
 * Moves what waits in the inbox to the end of the conversation, in the order in which it was said, and records that. Each message is
 * appended under the command id under which it was queued: so once, however many move it, and wherever one of them dies.
 *
 * @param mail what waits there, if it was just read
 * @returns whether there was anything
 */
export async function* moveIn(
  chat: Conversation,
  mail?: readonly QueuedMessage[],
): Steps<WriteError, boolean> {
  const pending = mail ?? (yield* chat.inbox.pending())
  let at = START
  for (const { data, metadata, id } of pending) {
    const { actor, commandId, $correlationId, $causationId = id, answer } = metadata
    const correlation = $correlationId !== undefined && { correlationId: $correlationId }
    const asked = answer !== undefined && { answer }
    const written = yield* ok(
      chat.record(data.messages, { commandId, actor, causationId: $causationId, ...correlation, ...asked }),
    )
    at = written.position
  }
  const last = pending.at(-1)
  if (last) yield* chat.inbox.take(last.revision, at)
  return last !== undefined
}
