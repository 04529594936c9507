import * as E from 'fp-ts/lib/Either.js'
import { run } from '../result/steps.ts'
import { tell } from './beats.ts'
import { endAll } from './runs.ts'
import type { Shift } from './shift.ts'

/** Resolves when the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Turns may finish within the grace; then they are ended. Says that the worker has stopped, once it has let go of all. @returns whether that is recorded */
export const drain = async ({ worker, settings, around, runs, watch }: Shift): Promise<boolean> => {
  const areOver = (): boolean => runs.size === 0
  await watch.until(areOver, settings.grace)
  endAll(runs, `${worker} stops`)
  await watch.until(areOver, Infinity)
  return E.isRight(await run(tell(around.store, around.actor, worker, { type: 'WorkerStopped', data: {} })))
}
