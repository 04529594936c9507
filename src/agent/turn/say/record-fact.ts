import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { TurnFact } from '../../../events/turn-events.ts'
import type { CommandEnvelope } from '../../../conversation/writing/encode.ts'
import { catchTyped, unwrap, type Fallible } from '../../../result/fallible.ts'
import { despiteConflicts } from '../../../store/conflicts.ts'
import type { NoteError, ReadError, StoreError } from '../../../store/errors.ts'

/** Reports whether the log of turns already contains a fact recorded by a command. */
const isRecorded = ({ turnLog }: ConversationHandle, commandId: string): Fallible<StoreError, boolean> =>
  catchTyped(async () => {
    for await (const { metadata } of turnLog.newest()) if (metadata.commandId === commandId) return true
    return false
  })

/**
 * Records a fact about an existing conversation that does not depend on a particular turn. A repetition with the same `commandId`
 * records nothing.
 */
export async function* recordFact(
  chat: ConversationHandle,
  factAt: (position: number) => TurnFact,
  envelope: Pick<CommandEnvelope, 'commandId' | 'actor'> = {},
): Fallible<NoteError | ReadError, void> {
  const at = yield* unwrap(chat.position())
  const { commandId } = envelope
  yield* despiteConflicts(async function* (): Fallible<NoteError | ReadError, void> {
    const { revision } = yield* chat.turnLog.now()
    if (commandId !== undefined && (yield* isRecorded(chat, commandId))) return
    const begun: readonly TurnFact[] = revision < 0 ? [{ type: 'TurnsBegun', data: { at } }] : []
    yield* chat.turnLog.append([...begun, factAt(at)], revision, envelope)
  })
}
