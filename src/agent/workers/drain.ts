import * as E from 'fp-ts/lib/Either.js'
import { run } from '../../result/fallible.ts'
import { tell } from '../../conversation/beside/worker-log.ts'
import { within } from './clock.ts'
import { endAll, type Runs } from './runs.ts'
import type { Shift } from './shift.ts'

/** Result of a worker's run: why the worker ended, and which conversations it could not release. */
export interface WorkerExit {
  /**
   * Reason why the worker ended. `stopped`: its signal aborted. `closed`: its store was closed, or the store's file was removed or
   * replaced; open the store again.
   */
  readonly why: 'stopped' | 'closed'
  /**
   * Conversations that the worker could not release, either because code of the program ignored its signal and may still be at work, or
   * because the store did not respond.
   */
  readonly left: readonly string[]
  /** True if the worker's end is in the log. If false, other workers wait for its `ttl` before they take over its conversations. */
  readonly isRecorded: boolean
}

/** Milliseconds after the grace period in which a worker can release its conversations. */
const parting = 1_000
/** Milliseconds after the grace period in which a worker can release its conversations and record its end. */
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
 * Lets turns finish within the grace period, then aborts them. Records that the worker has stopped, even if it could not release
 * everything.
 *
 * @param stopBeating stops the heartbeat: a beat recorded afterwards would mean that the worker is alive
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
  watch.changed()
  await watch.until(areOver, parting)
  const sayStopped = () => run(tell(store, actor, worker, { type: 'WorkerStopped', data: {} }))
  const said = await within(clock, end - clock.now(), stopBeating().then(sayStopped))
  return workerExitOf('stopped', runs, said !== undefined && E.isRight(said))
}
