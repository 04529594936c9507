import type { CondenseError } from '../context/summary/condense.ts'
import type { Origin } from '../../events/events.ts'
import { failedIn, withFailed } from '../models/asking.ts'
import type { FailedCall } from '../models/model.ts'

/** What has failed in a turn and is not yet in the origin of a reply. */
export interface Untold {
  readonly calls: () => readonly FailedCall[]
  /** The calls that an error tells of. */
  readonly add: (error: object) => void
  /** A condense failed in a window of so many tokens. If the context fits all the same, no marker tells of it. */
  readonly addCondense: (error: CondenseError, window: number) => void
  /** An origin that tells of all of it, but for the last `except` calls. */
  readonly tellIn: (origin: Origin, except?: number) => Origin
  /** It is recorded, but for the last `except` calls. */
  readonly told: (except?: number) => void
}

export const untold = (): Untold => {
  let failed: readonly FailedCall[] = []
  let condenseFailed: Origin['condenseFailed']
  const add: Untold['add'] = (error) => {
    failed = [...failed, ...failedIn(error)]
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
