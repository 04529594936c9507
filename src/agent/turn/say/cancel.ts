import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { z } from 'zod'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { checkJson } from '../../../events/check.ts'
import { unwrap, type Fallible, task } from '../../../result/fallible.ts'
import type { NoteError, ReadError } from '../../../store/errors.ts'
import { recordFact } from './record-fact.ts'

/** Name of the person who cancels a turn, and the reason. */
export interface CancelOptions {
  readonly by?: string | undefined
  readonly reason?: string | undefined
}
export type CancelError = NoteError | ReadError

const optionsSchema = z.strictObject({ by: z.string().min(1).optional(), reason: z.string().optional() })

/** Returns a function that cancels the conversation's current turn, if any, in any process. Later turns are unaffected. */
export const createCancelMethod =
  (chat: ConversationHandle) =>
  (options: CancelOptions = {}): TaskEither<CancelError, void> =>
    task(async function* (): Fallible<CancelError, void> {
      const given = yield* unwrap(checkJson(optionsSchema, options))
      if (!(yield* unwrap(chat.exists()))) return
      yield* recordFact(chat, (at) => ({ type: 'TurnCancelled', data: { ...given, at } }))
    })
