import type { CondenseError } from '../context/summary/condense.ts'
import type { ToolRun } from './stream/turn-event.ts'
import { type Untold, untold } from './untold.ts'

/** Progress of one call of `turn`, including the time before others took the conversation over. */
export interface Course {
  /** Number of times that others have taken it over. */
  losses: number
  /** Number of model calls, except those for summaries. */
  calls: number
  /** Tool calls that it has answered, in the order in which they ended. */
  readonly tools: ToolRun[]
  readonly failures: Untold
  /** True while a requested reply is not yet recorded. */
  isAsking: boolean
  /** Reason why the context was truncated instead of condensed, if it was. */
  condenseFailed?: CondenseError
}

export const newCourse = (): Course => ({
  losses: 0,
  calls: 0,
  tools: [],
  failures: untold(),
  isAsking: false,
})
