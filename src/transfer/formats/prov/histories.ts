import { type Effective, effective, evolveEffective } from '../../../projections/effective.ts'
import type { Log } from '../../../projections/path.ts'

/**
 * Returns a function that computes the effective history of a log at a position. It reuses the previous result if the positions ascend.
 */
export const historiesOf = (log: Log): ((at: number) => Effective) => {
  let known: Effective | undefined
  return (at) => {
    const next = known && at >= known.at ? evolveEffective(known, log.slice(known.at + 1, at + 1)) : undefined
    known = next ?? effective(log, at)
    return known
  }
}
