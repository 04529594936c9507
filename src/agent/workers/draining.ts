import * as E from 'fp-ts/lib/Either.js'
import { run } from '../../result/steps.ts'
import { tell } from '../../conversation/beside/worker-log.ts'
import { within } from './clock.ts'
import { endAll, type Runs } from './runs.ts'
import type { Shift } from './shift.ts'

/** How a worker has ended. */
export interface WorkerExit {
  /** `stopped`: it was told to; `closed`: its store was closed, or its file removed or replaced: open the store again. */
  readonly why: 'stopped' | 'closed'
  /**
   * The conversations that it could not let go of: something of the program's has ignored its signal and may still be at work, or the store
   * did not answer.
   */
  readonly left: readonly string[]
  /** Whether the log says that it has ended. If not, others wait for its `ttl` before they take over what is left. */
  readonly isRecorded: boolean
}

/** Milliseconds after its grace in which a worker lets go of what it holds. */
const parting = 1_000
/** Milliseconds for that, and to say that it has stopped. */
const farewell = 1_400

/** Resolves when the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

export const endedBy = (why: WorkerExit['why'], runs: Runs, isRecorded: boolean): WorkerExit => ({
  why,
  left: [...runs.keys()],
  isRecorded,
})

/**
 * Turns may finish within the grace; then they are ended. Says that the worker has stopped, whether it has let go of all or not.
 *
 * @param stopBeating a beat that is recorded after that would say that the worker lives
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
  return endedBy('stopped', runs, said !== undefined && E.isRight(said))
}
