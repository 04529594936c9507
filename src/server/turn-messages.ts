import type { AwaitedCall, Origin } from '../index.ts'

// What the stream of a turn says besides events of the turn and of the conversation.

/** First message of a turn stream. */
export interface AskedMessage {
  readonly conversation: string
  /** Last position at the time of the request. */
  readonly position: number
  /** Command id; repeating the same request under it resumes the stream. */
  readonly commandId: string
  /** Number of workers. */
  readonly workers: number
  /** Content of the stream during a reply: `tokens` as the model writes them, or `events` once they are recorded. */
  readonly streams: 'tokens' | 'events'
  /** The same in words. */
  readonly detail: string
}
/** A worker has claimed the turn. */
export interface ClaimedMessage {
  readonly worker: string
  readonly attempt: number
  readonly streams: 'tokens' | 'events'
}
/** A worker has released the turn before the model finished. */
export interface ReleasedMessage {
  readonly worker: string
  readonly reason: string
  readonly error?: string | undefined
  /** Milliseconds until the next attempt. */
  readonly waitMs?: number | undefined
}

/** Last message: the outcome of a turn, tagged on `outcome`. */
export type OutcomeMessage =
  | {
      readonly outcome: 'done'
      /** Position of the reply; undefined if there was nothing to answer. */
      readonly position?: number | undefined
      readonly stopReason?: Origin['stopReason']
      readonly usage?: Origin['usage']
    }
  | { readonly outcome: 'waiting'; readonly calls: readonly AwaitedCall[] }
  | {
      readonly outcome: 'parked'
      readonly attempts: number
      readonly errors: readonly string[]
      readonly error: string | undefined
    }
  | {
      readonly outcome: 'cancelled'
      readonly by?: string | undefined
      readonly reason?: string | undefined
    }
  | {
      readonly outcome: 'rewound'
      readonly position: number
      readonly to: number
      readonly reason?: string | undefined
    }
