import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { checkJson } from '../../events/check.ts'
import type { Actor } from '../../events/events.ts'
import { workerStreamOf } from '../../events/ids.ts'
import type { WorkerFact } from '../../events/worker-events.ts'
import { unwrap, type Fallible, task } from '../../result/fallible.ts'
import type { WriteError } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { tell } from '../../conversation/beside/worker-log.ts'
import { type PauseOptions, type ResumeOptions, whoSchema } from './requests.ts'

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
  async function* told(worker: string, fact: WorkerFact): Fallible<WorkerError, void> {
    const [last] = yield* unwrap(
      store.read({
        stream: workerStreamOf(worker),
        from: Number.MAX_SAFE_INTEGER,
        direction: 'backwards',
        limit: 1,
      }),
    )
    if (!last || last.type === 'WorkerStopped') return yield workerNotFound(worker)
    yield* tell(store, actor, worker, fact)
  }
  return {
    pauseWorker: (worker: string, options: PauseOptions): TaskEither<WorkerError, void> =>
      task(async function* (): Fallible<WorkerError, void> {
        const data = yield* unwrap(checkJson(whoSchema, options))
        yield* told(worker, { type: 'WorkerPaused', data })
      }),
    resumeWorker: (worker: string, options: ResumeOptions): TaskEither<WorkerError, void> =>
      task(async function* (): Fallible<WorkerError, void> {
        const data = yield* unwrap(checkJson(whoSchema, options))
        yield* told(worker, { type: 'WorkerResumed', data })
      }),
  }
}
