import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { Conversation } from '../conversation/conversation.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import { isConversationId } from '../events/ids.ts'
import { ok, type Steps, task } from '../result/steps.ts'
import { ownClock } from './clock.ts'
import type { Surroundings } from './shift.ts'
import { checkedWorker, settingsOf, type WorkerOptions } from './worker-options.ts'
import { work } from './worker.ts'

/** A worker: it takes steps of conversations that wait for an answer, and gives them turns. */
export interface Worker {
  /** As the log names it: never used again. */
  readonly id: string
  /** Works until the signal aborts, then stops: no further step is taken, and those in work have `grace` to end. */
  readonly run: (options?: { readonly signal?: AbortSignal | undefined }) => TaskEither<InvalidInput, void>
}

/** @param edge the conversation as the program takes it */
export const serving = <Chat>(
  surroundings: Omit<Surroundings, 'clock'>,
  options: WorkerOptions<Chat>,
  edge: (chat: Conversation) => Chat,
): Worker => {
  const checked = checkedWorker(options)
  const { name = 'worker' } = E.isRight(checked) ? checked.right : {}
  const id = `${name}-${randomUUID()}`
  const around = { ...surroundings, clock: ownClock }
  return {
    id,
    run: ({ signal = new AbortController().signal } = {}) =>
      task(async function* (): Steps<InvalidInput, void> {
        const settings = settingsOf(yield* ok(checked), edge)
        if (!isConversationId(id)) yield invalidInput('name', 'has letters, digits and . _ : - only')
        await work(id, settings, around, signal)
      }),
  }
}
