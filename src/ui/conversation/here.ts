import type { ApiSource } from '../source/source.ts'
import type { OutlineResponse } from '../source/answers.ts'

/** Context of an action: the conversation, the current position and the selection. */
export interface Here {
  readonly source: ApiSource
  readonly conversation: string
  /** Position that the page shows. `last` is the last position of the conversation. */
  readonly at: number
  readonly last: number
  /** Position of the selected row; equals `at` without a selection. */
  readonly selected: number
  readonly outline: OutlineResponse | undefined
}
