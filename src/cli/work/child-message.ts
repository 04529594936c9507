import type { AttemptReport } from '../../index.ts'
import type { CliError } from '../errors.ts'

/** A message from a worker's process to its parent. */
export type ChildMessage =
  /** The worker has started. `patience` is the time, in milliseconds, that the process may take to end once it is told to. */
  | { readonly type: 'started'; readonly worker: string; readonly patience: number }
  | { readonly type: 'step'; readonly step: AttemptReport }
  | { readonly type: 'failed'; readonly failure: CliError }
  /** The store's file is no longer the one that the process opened. */
  | { readonly type: 'replaced' }

/** Message that tells a worker's process to start no more steps and finish those in progress. */
export const stopWord = 'stop'
/** Message that tells a standby process to replace one that has ended. */
export const stepInWord = 'step in'
