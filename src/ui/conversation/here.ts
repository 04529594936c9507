import type { ApiSource } from '../source/source.ts'
import type { OutlineResponse } from '../source/answers.ts'

/** Where one is when something is done. */
export interface Here {
  readonly source: ApiSource
  readonly conversation: string
  /** The position looked from, and the last one. */
  readonly at: number
  readonly last: number
  /** The position of the selected row: `at` if none is. */
  readonly selected: number
  readonly outline: OutlineResponse | undefined
}
