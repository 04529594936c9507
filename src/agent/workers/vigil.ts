import * as E from 'fp-ts/lib/Either.js'
import { run } from '../../result/fallible.ts'
import { tell } from '../../conversation/beside/worker-log.ts'
import { pause } from './clock.ts'
import { isStoreGone } from './feed.ts'
import { patience, type Shift } from './shift.ts'

/**
 * Liveness monitor: shows other processes that the worker's process is alive, and detects workers whose processes have ended, where the
 * store supports this.
 */
export interface Vigil {
  readonly begin: () => void
  /**
   * Ends the monitoring.
   *
   * @param hasStopped true if the log records that the worker has stopped; if false, other workers detect that it has ended
   */
  readonly end: (hasStopped: boolean) => void
}

/** Milliseconds between checks of workers that hold conversations. */
export const often = 25
/** Milliseconds between checks while no other worker holds a conversation. */
const sometimes = 100
/** Milliseconds between checks of all other workers. */
const seldom = 10_000

/** Returns a monitor that reports workers that ended without recording it, so that their steps become free at once. */
export const vigil = ({ worker, around: { store, actor, clock }, known, over }: Shift): Vigil => {
  const { liveness } = store
  const release = liveness?.hold(worker)
  let lookedAt = -Infinity
  let cancel = (): void => {}

  const holders = (): ReadonlySet<string> => {
    const names = new Set<string>()
    for (const { holder } of known.lanes.inProgress.values())
      if (holder !== undefined && holder !== worker) names.add(holder)
    return names
  }

  const report = async (name: string): Promise<void> => {
    const forget = liveness?.inherit(name)
    if (!forget) return
    const fact = { type: 'WorkerStopped', data: { reason: 'its process has ended' } } as const
    for (;;) {
      const told = await run(tell(store, actor, name, fact))
      if (E.isRight(told)) return forget()
      if (isStoreGone(told) || over.aborted) return
      await pause(clock, patience, over)
    }
  }
  const look = (): void => {
    const names = holders()
    for (const name of names) void report(name)
    if (clock.now() - lookedAt >= seldom) {
      lookedAt = clock.now()
      for (const name of liveness?.names() ?? []) if (name !== worker) void report(name)
    }
    cancel = clock.after(names.size > 0 ? often : sometimes, look)
  }

  return {
    begin: () => {
      if (liveness && lookedAt === -Infinity) look()
    },
    end: (hasStopped) => {
      cancel()
      if (hasStopped) release?.()
    },
  }
}
