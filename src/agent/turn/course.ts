import type { CondenseError } from '../context/summary/condense.ts'
import type { ToolRun } from './stream/turn-event.ts'
import { type Untold, untold } from './untold.ts'

/** What one call of `turn` has done so far, including before others took the conversation over. */
export interface Course {
  /** How often others have. */
  losses: number
  /** How often it has called the model; calls for summaries not counted. */
  calls: number
  /** The calls of tools that it has answered, in the order in which they ended. */
  readonly tools: ToolRun[]
  readonly failures: Untold
  /** Whether a reply was asked for that is not recorded. */
  isAsking: boolean
  /** Why the context was truncated and not condensed, if it was. */
  condenseFailed?: CondenseError
}

export const newCourse = (): Course => ({
  losses: 0,
  calls: 0,
  tools: [],
  failures: untold(),
  isAsking: false,
})
