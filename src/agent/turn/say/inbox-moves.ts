import { START } from '../../../events/events.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { QueuedMessage } from '../../../conversation/beside/inbox.ts'
import { unwrap, type Fallible } from '../../../result/fallible.ts'
import type { WriteError } from '../../../store/errors.ts'

/** Moves the inbox to the end of the conversation, each message once, as it keeps its command id. Returns true if there were any. */
export async function* moveIn(
  chat: ConversationHandle,
  mail?: readonly QueuedMessage[],
): Fallible<WriteError, boolean> {
  const pending = mail ?? (yield* chat.inbox.pending())
  let at = START
  for (const { data, metadata, id } of pending) {
    const { actor, commandId, $correlationId, $causationId = id, answer, workspace } = metadata
    const correlation = $correlationId !== undefined && { correlationId: $correlationId }
    const own = { ...(answer !== undefined && { answer }), ...(workspace && { workspace }) }
    const written = yield* unwrap(
      chat.record(data.messages, { commandId, actor, causationId: $causationId, ...correlation, ...own }),
    )
    at = written.position
  }
  const last = pending.at(-1)
  if (last) yield* chat.inbox.take(last.revision, at)
  return last !== undefined
}
