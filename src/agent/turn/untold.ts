import type { CondenseError } from '../context/summary/condense.ts'
import type { Origin } from '../../events/events.ts'
import { failuresIn, withFailed } from '../models/call-model.ts'
import type { FailedCall } from '../models/model.ts'

/** Failures of a turn that are not yet recorded in the origin of a reply. */
export interface Untold {
  readonly calls: () => readonly FailedCall[]
  /** Adds the failed calls of an error. */
  readonly add: (error: object) => void
  /**
   * Adds a failed condense, because no marker records the failure if the context fits anyway. `window` is the context window in tokens.
   */
  readonly addCondense: (error: CondenseError, window: number) => void
  /** Returns the origin with all failures added, except for the last `except` calls. */
  readonly tellIn: (origin: Origin, except?: number) => Origin
  /** Marks all failures as recorded, except for the last `except` calls. */
  readonly told: (except?: number) => void
}

export const untold = (): Untold => {
  let failed: readonly FailedCall[] = []
  let condenseFailed: Origin['condenseFailed']
  const add: Untold['add'] = (error) => {
    failed = [...failed, ...failuresIn(error)]
  }
  return {
    calls: () => failed,
    add,
    addCondense: (error, window) => {
      add(error)
      condenseFailed = { error: error._tag, window }
    },
    tellIn: (origin, except = 0) => ({
      ...withFailed(origin, failed.slice(0, failed.length - except)),
      ...(condenseFailed && { condenseFailed }),
    }),
    told: (except = 0) => {
      failed = failed.slice(failed.length - except)
      condenseFailed = undefined
    },
  }
}
