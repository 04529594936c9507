import type { CondenseError } from '../context/summary/condense.ts'
import type { ToolRun } from './stream/turn-event.ts'
import { type Untold, untold } from './untold.ts'

/** Progress of one call to `turn`, kept even when another holder takes over the conversation in between. */
export interface Course {
  /** Number of times that another holder took over the conversation. */
  losses: number
  /** Number of model calls, excluding those for summaries. */
  calls: number
  /** Tool calls answered by the turn, in the order in which they ended. */
  readonly tools: ToolRun[]
  readonly failures: Untold
  /** True while a requested reply is not yet recorded. */
  isAsking: boolean
  /** Reason why the context was truncated instead of condensed, if it was truncated. */
  condenseFailed?: CondenseError
}

export const newCourse = (): Course => ({
  losses: 0,
  calls: 0,
  tools: [],
  failures: untold(),
  isAsking: false,
})
