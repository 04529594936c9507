import type { AttemptReport } from '../../index.ts'
import type { CliError } from '../errors.ts'

/** A message from a worker's process to its parent. */
export type ChildMessage =
  /** The agent is loaded. The process waits for `openWord` before it opens the store. */
  | { readonly type: 'loaded' }
  /** The worker has started. `grace` is the time, in milliseconds, that its turns may take once it is told to end. */
  | { readonly type: 'started'; readonly worker: string; readonly grace: number }
  /** The worker begins an attempt in a conversation. A `step` message follows when the attempt ends. */
  | { readonly type: 'taken'; readonly conversation: string }
  | { readonly type: 'step'; readonly step: AttemptReport }
  /** The worker has stopped, and released all of its steps. */
  | { readonly type: 'stopped' }
  | { readonly type: 'failed'; readonly failure: CliError }
  /** The file of the agent has changed since the process has loaded it. */
  | { readonly type: 'changed' }
  /** The store's file is no longer the one that the process opened. */
  | { readonly type: 'replaced' }

/** Message that tells a worker's process to open the store: it exists. */
export const openWord = 'open'
/** Message that tells a worker's process to start no more steps and finish those in progress. */
export const stopWord = 'stop'
/** Message that tells a standby process to replace one that has ended. */
export const stepInWord = 'step in'

/** Grace period of a worker whose options have none, in milliseconds. */
export const defaultGrace = 30_000
/**
 * Time that a worker has, after its grace period, to release its steps, in milliseconds. After that, the process exits, so that an
 * agent that hangs cannot keep them.
 */
export const extra = 2_000
