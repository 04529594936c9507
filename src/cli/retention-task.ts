import type { Store } from '../index.ts'
import { pause } from '../result/timers.ts'

/** Time between two looks at whether the rules are due, in milliseconds. A process may have been restarted in between. */
const look = 3_600_000

/** Maximum number of conversations erased from that a line of the log names. The store has them all, as `Erased` events. */
const mostLogged = 20

/**
 * Applies the retention rules of a store once a day, in one process at a time, until the signal aborts. Writes a line of JSON for each
 * run, and for each failure, which does not end it.
 */
export const keepApplyingRetention = async (
  store: Store,
  log: { readonly write: (text: string) => unknown } | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const told = (line: object): void => void log?.write(`${JSON.stringify(line)}\n`)
  while (!signal.aborted) {
    try {
      const report = await store.retention.applyIfDue({ signal })
      if (report) told({ retention: 'applied', ...report, erased: report.erased.slice(0, mostLogged) })
    } catch (error) {
      told({ retention: 'failed', error })
    }
    await pause(look, signal)
  }
}
