import { effective, type Effective } from '../projections/effective.ts'
import type { Log } from '../projections/path.ts'

/** The effective history of a log at any position; the last few are remembered. */
export const historiesOf = (log: Log): ((at: number) => Effective) => {
  const known = new Map<number, Effective>()
  return (at) => {
    const found = known.get(at) ?? effective(log, at)
    known.delete(at)
    known.set(at, found)
    const [oldest] = known.keys()
    if (known.size > 4 && oldest !== undefined) known.delete(oldest)
    return found
  }
}
