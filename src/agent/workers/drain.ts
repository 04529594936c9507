import * as E from 'fp-ts/lib/Either.js'
import { run } from '../../result/steps.ts'
import { tell } from '../../conversation/beside/worker-log.ts'
import { within } from './clock.ts'
import { endAll, type Runs } from './runs.ts'
import type { Shift } from './shift.ts'

/** End of a worker: the reason, and the conversations it could not release. */
export interface WorkerExit {
  /** `stopped`: its signal aborted; `closed`: its store was closed, or its file removed or replaced: open the store again. */
  readonly why: 'stopped' | 'closed'
  /**
   * Conversations that it could not release: code of the program ignored its signal and may still be at work, or the store did not
   * answer.
   */
  readonly left: readonly string[]
  /** True if its end is in the log. If not, other workers wait for its `ttl` before they take its conversations over. */
  readonly isRecorded: boolean
}

/** Milliseconds after its grace in which a worker releases its conversations. */
const parting = 1_000
/** Milliseconds to release the conversations and record the worker's end. */
const farewell = 1_400

/** Resolves when the signal aborts. */
export const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

export const workerExitOf = (why: WorkerExit['why'], runs: Runs, isRecorded: boolean): WorkerExit => ({
  why,
  left: [...runs.keys()],
  isRecorded,
})

/**
 * Lets turns finish within the grace, then aborts them. Records that the worker has stopped, even if it could not release everything.
 *
 * @param stopBeating stops the beats: a beat recorded afterwards would claim that the worker lives
 */
export const drain = async (
  { worker, settings, around, runs, watch }: Shift,
  stopBeating: () => Promise<void>,
): Promise<WorkerExit> => {
  const { store, actor, clock } = around
  const areOver = (): boolean => runs.size === 0
  await watch.until(areOver, settings.grace)
  const end = clock.now() + farewell
  endAll(runs, `${worker} stops`)
  await watch.until(areOver, parting)
  const sayStopped = () => run(tell(store, actor, worker, { type: 'WorkerStopped', data: {} }))
  const said = await within(clock, end - clock.now(), stopBeating().then(sayStopped))
  return workerExitOf('stopped', runs, said !== undefined && E.isRight(said))
}
