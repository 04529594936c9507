import type { AttemptReport } from '../../index.ts'
import type { CliError } from '../errors.ts'

/** What a worker's process says to the one that started it. */
export type ChildMessage =
  /** `patience`: how many milliseconds it may take to end once it is to. */
  | { readonly type: 'started'; readonly worker: string; readonly patience: number }
  | { readonly type: 'step'; readonly step: AttemptReport }
  | { readonly type: 'failed'; readonly failure: CliError }
  /** The file of the store is not the one that it opened. */
  | { readonly type: 'replaced' }

/** What that one says to it: no more steps, and end those in progress. */
export const stopWord = 'stop'
/** To one that stands by: take the place of another. */
export const stepInWord = 'step in'
