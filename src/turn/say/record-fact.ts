import * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../../conversation/conversation.ts'
import type { TurnFact } from '../../events/turn-events.ts'
import { ok, run, type Steps } from '../../result/steps.ts'
import type { NoteError, ReadError } from '../../store/errors.ts'

/** How often it is recorded again while others write to the same stream. */
const maxTries = 100

/** Records beside an existing conversation what is true whatever else its turns do. */
export async function* recordFact(
  chat: Conversation,
  factAt: (position: number) => TurnFact,
): Steps<NoteError | ReadError, void> {
  const at = yield* ok(chat.position())
  for (let tries = 1; ; tries++) {
    const { revision } = yield* chat.turnLog.now()
    const begun: readonly TurnFact[] = revision < 0 ? [{ type: 'TurnsBegun', data: { at } }] : []
    const written = await run(chat.turnLog.append([...begun, factAt(at)], revision))
    if (E.isRight(written)) return
    if (written.left._tag !== 'Conflict' || tries === maxTries) return yield written.left
  }
}
