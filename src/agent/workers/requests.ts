import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { z } from 'zod'
import { tell } from '../../conversation/beside/worker-log.ts'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import { objectOf, splitEnvelope } from '../../conversation/writing/envelope.ts'
import { checkJson } from '../../events/check.ts'
import { invalidInput } from '../../events/errors.ts'
import { type Actor, type AnswerTerms, askingShape, START } from '../../events/events.ts'
import { workerStreamOf } from '../../events/ids.ts'
import type { RecordedTurnFact } from '../../events/turn-events.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import { unwrap, orThrow, type Fallible, task } from '../../result/fallible.ts'
import { toError } from '../../result/typed-error.ts'
import type { NoteError, ReadError, WriteError } from '../../store/errors.ts'
import { checkOptions, type OptionKinds, kinds } from '../../store/options.ts'
import type { EventStore } from '../../store/port.ts'
import { recordFact } from '../turn/say/record-fact.ts'
import { lastEvent } from './board/feed.ts'

/** Name of the person who requests the retry of a parked step, and the reason. */
export interface RetryOptions {
  readonly by: string
  readonly reason?: string | undefined
}
/** Name of the person who pauses work, and the reason. */
export interface PauseOptions {
  readonly by: string
  readonly reason?: string | undefined
}
/** Name of the person who resumes work, and the reason. */
export interface ResumeOptions {
  readonly by: string
  readonly reason?: string | undefined
}
/** Terms of a request for an answer. A repetition with the same `commandId` has no effect. */
export interface AnswerRequest extends AnswerTerms {
  readonly commandId?: string | undefined
  readonly actor?: Actor | undefined
}
/** Options that select facts from a conversation's log of turns. */
export interface TurnFactsOptions {
  /** Position that the conversation must have reached when a fact was recorded. Default: all facts, also those of workers that knew no position. */
  readonly from?: number | undefined
  /** Position that the conversation must not have passed when a fact was recorded. Cannot be combined with `follow`. */
  readonly to?: number | undefined
  /** True to continue with new facts until the signal aborts or the store is closed. Default false. */
  readonly follow?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}
export type RequestError = NoteError | ReadError

const factsFields: OptionKinds<TurnFactsOptions> = {
  from: kinds.last,
  to: kinds.last,
  follow: kinds.flag,
  signal: kinds.signal,
}

/** Schema for the name of the person who makes a request to workers, and the reason. */
const whoSchema = z.strictObject({
  by: z.string().min(1, { error: 'say who does it' }),
  reason: z.string().optional(),
})

/** Requests to workers: answer, retry, pause, resume. */
export interface WorkRequester<W extends ResultStyle = 'task'> {
  /**
   * Requests an answer from workers without appending a message; `append` with `answer` does both. Errors: `ConversationNotFound`, or a
   * `ReadError`.
   *
   * @example
   * await chat.request({ tenant: 'acme', priority: 1 })
   */
  readonly request: (options?: AnswerRequest) => MethodResult<W, RequestError, void>
  /**
   * Retries a step that is parked or waits after a failure. Errors: `ConversationNotFound`, or a `ReadError`.
   *
   * @example
   * await chat.retry({ by: 'ann', reason: 'the key is valid again' })
   */
  readonly retry: (options: RetryOptions) => MethodResult<W, RequestError, void>
  /**
   * Pauses a conversation: workers start no new step until it is resumed, and requests wait until then. A turn in progress continues
   * (`cancel` ends it), and messages, rewinds and decisions are recorded as usual. Errors: `ConversationNotFound`, or a `ReadError`.
   *
   * @example
   * await chat.pause({ by: 'ann', reason: 'to be looked at' })
   */
  readonly pause: (options: PauseOptions) => MethodResult<W, RequestError, void>
  /**
   * Resumes a paused conversation. Errors: `ConversationNotFound`, or a `ReadError`.
   *
   * @example
   * await chat.resume({ by: 'ann' })
   */
  readonly resume: (options: ResumeOptions) => MethodResult<W, RequestError, void>
  /**
   * Yields the facts in the conversation's log of turns, in order: requests, claims, releases, waiting calls, decisions, cancellations.
   * Throws a `StoreError` or `InvalidInput` during iteration.
   *
   * @example
   * for await (const { type, data, metadata } of chat.turnFacts()) console.log(metadata.time, type, data)
   */
  readonly turnFacts: (options?: TurnFactsOptions) => AsyncIterable<RecordedTurnFact>
}

/** Returns a method that records a person's request about a conversation. */
const requestMethod =
  (chat: ConversationHandle, type: 'TurnUnparked' | 'TurnsPaused' | 'TurnsResumed') =>
  (options: RetryOptions | PauseOptions | ResumeOptions): TaskEither<RequestError, void> =>
    task(async function* (): Fallible<RequestError, void> {
      const fields = yield* unwrap(objectOf(options, "{ by: 'ann' }"))
      const who = yield* unwrap(checkJson(whoSchema, fields))
      yield* recordFact(chat, (at) => ({ type, data: { ...who, at } }))
    })

/** Returns the methods that send requests about a conversation to workers. */
export const createWorkRequester = (chat: ConversationHandle): WorkRequester => ({
  request: (options = {}) =>
    task(async function* (): Fallible<RequestError, void> {
      const { input, envelope } = yield* unwrap(
        E.flatMap(splitEnvelope)(objectOf(options, "{ tenant: 'acme' }")),
      )
      const asking = yield* unwrap(checkJson(z.strictObject(askingShape), input))
      yield* recordFact(chat, (at) => ({ type: 'TurnRequested', data: { ...asking, at } }), envelope)
    }),
  retry: requestMethod(chat, 'TurnUnparked'),
  pause: requestMethod(chat, 'TurnsPaused'),
  resume: requestMethod(chat, 'TurnsResumed'),
  turnFacts: async function* (options) {
    const { from = START, to, follow = false, signal } = await orThrow(checkOptions(options, factsFields))
    if (follow && to !== undefined) throw toError(invalidInput('to', 'cannot be combined with follow'))
    if (to === undefined) yield* chat.turnLog.since(from, follow, signal)
    else yield* chat.turnLog.between(from, to)
  },
})

/** The worker does not exist or has stopped; `workers` lists the existing ones. Nothing was recorded. */
export interface WorkerNotFound {
  readonly _tag: 'WorkerNotFound'
  readonly message: string
  readonly worker: string
}
export type WorkerError = WorkerNotFound | WriteError

const workerNotFound = (worker: string): WorkerNotFound => ({
  _tag: 'WorkerNotFound',
  message: `there is no worker ${worker}, or it has stopped: list the workers to see their ids`,
  worker,
})

/**
 * Returns methods that pause and resume workers; a paused worker begins no step. Errors: `WorkerNotFound` for a worker that has never
 * recorded a beat or has stopped.
 */
export const createPauseMethods = (store: EventStore, actor: Actor) => {
  const told =
    (type: 'WorkerPaused' | 'WorkerResumed') =>
    (worker: string, options: PauseOptions | ResumeOptions): TaskEither<WorkerError, void> =>
      task(async function* (): Fallible<WorkerError, void> {
        const fields = yield* unwrap(objectOf(options, "{ by: 'ann' }"))
        const data = yield* unwrap(checkJson(whoSchema, fields))
        const last = yield* lastEvent(store, workerStreamOf(worker))
        if (!last || last.type === 'WorkerStopped') return yield workerNotFound(worker)
        yield* tell(store, actor, worker, { type, data })
      })
  return { pauseWorker: told('WorkerPaused'), resumeWorker: told('WorkerResumed') }
}
