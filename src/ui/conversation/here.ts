import type { Source } from '../source/source.ts'
import type { Outline } from './shapes.ts'

/** Where one is when something is done. */
export interface Here {
  readonly source: Source
  readonly conversation: string
  /** The position looked from, and the last one. */
  readonly at: number
  readonly last: number
  /** The position of the selected row: `at` if none is. */
  readonly selected: number
  readonly outline: Outline | undefined
}
