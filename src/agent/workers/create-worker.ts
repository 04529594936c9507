import { randomUUID } from 'node:crypto'
import * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import { isConversationId } from '../../events/ids.ts'
import type { MethodResult, ResultStyle } from '../../result/answer.ts'
import { unwrap, type Fallible, task } from '../../result/fallible.ts'
import { checkOptions, type OptionKinds, kinds } from '../../store/options.ts'
import { ownClock } from './clock.ts'
import type { WorkerExit } from './drain.ts'
import type { WorkerEnvironment } from './shift.ts'
import { checkWorkerOptions, settingsOf, type WorkerOptions } from './worker-options.ts'
import { work } from './worker.ts'

/** A worker that claims steps of conversations that await an answer, and runs their turns. */
export interface WorkerMethods<W extends ResultStyle> {
  /** Id of the worker in the log. An id is never reused. */
  readonly id: string
  /**
   * Runs the worker until the signal aborts. The worker then takes no further step, and the steps in progress have `grace` ms to end;
   * the worker ends at most two seconds after that. It also ends when the store is closed or the store's file is replaced; while the
   * store is unavailable, it waits. A worker can run only once. Errors: `InvalidInput`, also on the second call.
   *
   * @example
   * const worker = store.worker({ turn: () => ({ client, model: 'claude-opus-5-5' }) })
   * const ended = await worker.run({ signal: AbortSignal.timeout(100) })
   */
  readonly run: (options?: RunOptions) => MethodResult<W, InvalidInput, WorkerExit>
}

/** A worker whose methods return TaskEithers. */
export interface TaskWorker extends WorkerMethods<'task'> {}

interface RunOptions {
  readonly signal?: AbortSignal | undefined
}

const fields: OptionKinds<RunOptions> = { signal: kinds.signal }

export const createWorker = (
  surroundings: Omit<WorkerEnvironment, 'clock'>,
  options: WorkerOptions<ConversationHandle>,
): TaskWorker => {
  const checked = checkWorkerOptions(options)
  const { name = 'worker' } = E.isRight(checked) ? checked.right : {}
  const id = `${name}-${randomUUID()}`
  const around = { ...surroundings, clock: ownClock }
  let hasRun = false
  return {
    id,
    run: (runOptions) =>
      task(async function* (): Fallible<InvalidInput, WorkerExit> {
        const { signal = new AbortController().signal } = yield* unwrap(checkOptions(runOptions, fields))
        const settings = settingsOf(yield* unwrap(checked))
        if (!isConversationId(id)) yield invalidInput('name', 'may contain only letters, digits and . _ : -')
        // If two runs shared an id, each would take the other's steps for its own.
        if (hasRun)
          yield invalidInput(
            'run',
            'can be called only once: create another worker with store.worker(options)',
          )
        hasRun = true
        return work(id, settings, around, signal)
      }),
  }
}
