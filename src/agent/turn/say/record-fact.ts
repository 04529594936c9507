import type { ConversationHandle } from '../../../conversation/conversation.ts'
import type { TurnFact } from '../../../events/turn-events.ts'
import type { CommandEnvelope } from '../../../conversation/writing/encode.ts'
import { catchTyped, unwrap, type Fallible } from '../../../result/fallible.ts'
import { despiteConflicts } from '../../../store/conflicts.ts'
import type { NoteError, ReadError, StoreError } from '../../../store/errors.ts'

/** Records a fact about an existing conversation that concerns no particular turn, and only once for each `commandId`. */
export async function* recordFact(
  chat: ConversationHandle,
  factAt: (position: number) => TurnFact,
  envelope: Pick<CommandEnvelope, 'commandId' | 'actor'> = {},
): Fallible<NoteError | ReadError, void> {
  const at = yield* unwrap(chat.position())
  const { commandId } = envelope
  const isRecorded = (id: string): Fallible<StoreError, boolean> =>
    catchTyped(async () => {
      for await (const { metadata } of chat.turnLog.newest()) if (metadata.commandId === id) return true
      return false
    })
  yield* despiteConflicts(async function* (): Fallible<NoteError | ReadError, void> {
    const { revision } = yield* chat.turnLog.now()
    if (commandId !== undefined && (yield* isRecorded(commandId))) return
    const begun: readonly TurnFact[] = revision < 0 ? [{ type: 'TurnsBegun', data: { at } }] : []
    yield* chat.turnLog.append([...begun, factAt(at)], revision, envelope)
  })
}
