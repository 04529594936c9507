import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { z } from 'zod'
import type { Conversation } from '../conversation/conversation.ts'
import { checkJson } from '../events/check.ts'
import type { TurnFact } from '../events/turn-events.ts'
import { ok, run, type Steps, task } from '../result/steps.ts'
import type { NoteError, ReadError } from '../store/errors.ts'

/** Who cancels a turn, and why. */
export interface CancelOptions {
  readonly by?: string | undefined
  readonly reason?: string | undefined
}
export type CancelError = NoteError | ReadError

const optionsSchema = z.strictObject({ by: z.string().min(1).optional(), reason: z.string().optional() })

/** How often it is recorded again while others write to the same stream. */
const maxTries = 100

/** Ends the turn that is being given to a conversation, in whichever process. Cancels nothing that begins later. */
export const cancelling =
  (chat: Conversation) =>
  (options: CancelOptions = {}): TaskEither<CancelError, void> =>
    task(async function* (): Steps<CancelError, void> {
      const given = yield* ok(checkJson(optionsSchema, options))
      const at = yield* ok(chat.position())
      const cancelled: TurnFact = { type: 'TurnCancelled', data: { ...given, at } }
      for (let tries = 1; ; tries++) {
        const { revision } = yield* chat.turnLog.now()
        const begun: readonly TurnFact[] = revision < 0 ? [{ type: 'TurnsBegun', data: { at } }] : []
        const written = await run(chat.turnLog.append([...begun, cancelled], revision))
        if (E.isRight(written)) return
        if (written.left._tag !== 'Conflict' || tries === maxTries) return yield written.left
      }
    })
