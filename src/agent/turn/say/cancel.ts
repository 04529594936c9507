import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { z } from 'zod'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { checkJson } from '../../../events/check.ts'
import { ok, type Steps, task } from '../../../result/steps.ts'
import type { NoteError, ReadError } from '../../../store/errors.ts'
import { recordFact } from './record-fact.ts'

/** Name of the person who cancels a turn, and the reason. */
export interface CancelOptions {
  readonly by?: string | undefined
  readonly reason?: string | undefined
}
export type CancelError = NoteError | ReadError

const optionsSchema = z.strictObject({ by: z.string().min(1).optional(), reason: z.string().optional() })

/** Returns a function that cancels the conversation's current turn, if any, in whichever process runs it. Later turns are unaffected. */
export const createCancelMethod =
  (chat: ConversationHandle) =>
  (options: CancelOptions = {}): TaskEither<CancelError, void> =>
    task(async function* (): Steps<CancelError, void> {
      const given = yield* ok(checkJson(optionsSchema, options))
      if (!(yield* ok(chat.exists()))) return
      yield* recordFact(chat, (at) => ({ type: 'TurnCancelled', data: { ...given, at } }))
    })
