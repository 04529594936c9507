import type { ApiSource } from '../source/source.ts'
import type { OutlineResponse } from '../source/answers.ts'

/** The place at which an action is taken. */
export interface Here {
  readonly source: ApiSource
  readonly conversation: string
  /** Current position, and the last position. */
  readonly at: number
  readonly last: number
  /** Position of the selected row, else `at`. */
  readonly selected: number
  readonly outline: OutlineResponse | undefined
}
