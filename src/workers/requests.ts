import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { z } from 'zod'
import type { Conversation } from '../conversation/conversation.ts'
import { checkJson } from '../events/check.ts'
import { type Asking, askingShape } from '../events/events.ts'
import { ok, type Steps, task } from '../result/steps.ts'
import type { NoteError, ReadError } from '../store/errors.ts'
import { recordFact } from '../turn/say/record-fact.ts'

/** Who has a parked step tried again. */
export interface UnparkOptions {
  readonly by: string
}
/** Who has workers begin nothing, and why. */
export interface PauseOptions {
  readonly by: string
  readonly reason?: string | undefined
}
/** Who has workers continue. */
export interface ResumeOptions {
  readonly by: string
}
export type RequestError = NoteError | ReadError

const byShape = { by: z.string().min(1, { error: 'say who does it' }) }
export const bySchema = z.strictObject(byShape)
export const pauseSchema = z.strictObject({ ...byShape, reason: z.string().optional() })

/** What people ask of workers. */
export const requesting = (chat: Conversation) => ({
  request: (options: Asking = {}): TaskEither<RequestError, void> =>
    task(async function* (): Steps<RequestError, void> {
      const asking = yield* ok(checkJson(z.strictObject(askingShape), options))
      yield* recordFact(chat, (at) => ({ type: 'TurnRequested', data: { ...asking, at } }))
    }),
  unpark: (options: UnparkOptions): TaskEither<RequestError, void> =>
    task(async function* (): Steps<RequestError, void> {
      const { by } = yield* ok(checkJson(bySchema, options))
      yield* recordFact(chat, (at) => ({ type: 'TurnUnparked', data: { by, at } }))
    }),
  pause: (options: PauseOptions): TaskEither<RequestError, void> =>
    task(async function* (): Steps<RequestError, void> {
      const paused = yield* ok(checkJson(pauseSchema, options))
      yield* recordFact(chat, (at) => ({ type: 'TurnsPaused', data: { ...paused, at } }))
    }),
  resume: (options: ResumeOptions): TaskEither<RequestError, void> =>
    task(async function* (): Steps<RequestError, void> {
      const { by } = yield* ok(checkJson(bySchema, options))
      yield* recordFact(chat, (at) => ({ type: 'TurnsResumed', data: { by, at } }))
    }),
})
