import type { AttemptReport } from '../../index.ts'
import type { CliError } from '../errors.ts'

/** A message from a worker's process to its parent. */
export type ChildMessage =
  /** `patience`: time that the process may take to end once told to, in milliseconds. */
  | { readonly type: 'started'; readonly worker: string; readonly patience: number }
  | { readonly type: 'step'; readonly step: AttemptReport }
  | { readonly type: 'failed'; readonly failure: CliError }
  /** The store's file is no longer the one that the process opened. */
  | { readonly type: 'replaced' }

/** Message to a worker's process: start no more steps, and finish those in progress. */
export const stopWord = 'stop'
/** Message to a process that stands by: take the place of another. */
export const stepInWord = 'step in'
