import type { MessagePort } from 'node:worker_threads'
import type { ModelExchange } from '../../recorder/exchange.ts'
import type { RecordOutcome } from '../../recorder/record-queue.ts'

// What the threads of `palimpsest record` tell each other.

/** Data of the thread. */
export interface RecordTask {
  readonly url: string
  readonly index: string | undefined
  /** Modules to load first. */
  readonly modules: readonly string[]
  /** Folder of the calls that wait to be recorded; undefined if they wait only in memory. */
  readonly spool: string | undefined
  /** True if a program waits for the outcome of each call, so that no call is tried again. */
  readonly isStrict: boolean
}

/** Port on which calls come, if the thread's own is not used. */
export interface RecordInput {
  readonly calls?: MessagePort
}

/** Messages to the thread. */
export type ToRecorder =
  | { readonly type: 'call'; readonly exchange: ModelExchange; readonly number: number }
  /** A call that waits in a file. */
  | { readonly type: 'file'; readonly file: string; readonly number: number }
  | { readonly type: 'missed'; readonly reason: string }
  | { readonly type: 'end' }

/** Messages from the thread. */
export type FromRecorder =
  | { readonly type: 'open' }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly message: string }
  /** Outcome of a call; without its number if it comes from an earlier process. */
  | ({ readonly type: 'done'; readonly number?: number } & RecordOutcome)

/** Messages from the thread that puts calls into files: it has started, or the call with this number is in a file. */
export type FromSpool = 'ready' | number

/** Data of the thread that puts calls into files. */
export interface SpoolTask {
  readonly folder: string
  /** Port of the recorder. */
  readonly recorder: MessagePort
}
