import { type Effective, effective, evolved } from '../../../projections/effective.ts'
import type { Log } from '../../../projections/path.ts'

/** The effective history of a log at positions that mostly ascend. */
export const historiesOf = (log: Log): ((at: number) => Effective) => {
  let known: Effective | undefined
  return (at) => {
    const next = known && at >= known.at ? evolved(known, log.slice(known.at + 1, at + 1)) : undefined
    known = next ?? effective(log, at)
    return known
  }
}
