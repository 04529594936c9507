import type { AwaitedCall, Origin } from '../index.ts'

// Messages of a turn stream, apart from live events of the turn and recorded events of the conversation.

/** First message of a turn stream, sent when the answer has been requested. */
export interface AskedMessage {
  readonly conversation: string
  /** Last position of the conversation at the time of the request. */
  readonly position: number
  /** Command id of the request. Sending the same request again with this id resumes the stream. */
  readonly commandId: string
  /** Number of available workers. */
  readonly workers: number
  /**
   * Content of the stream during a reply: `tokens` if text arrives as the model writes it, or `events` if it arrives once it is
   * recorded.
   */
  readonly streams: 'tokens' | 'events'
  /** Explanation of `workers` and `streams` in words. */
  readonly detail: string
}
/** Message sent when a worker has claimed the turn. */
export interface ClaimedMessage {
  readonly worker: string
  readonly attempt: number
  readonly streams: 'tokens' | 'events'
}
/** Message sent when a worker has released the turn before the model finished. */
export interface ReleasedMessage {
  readonly worker: string
  readonly reason: string
  readonly error?: string | undefined
  /** Time until the next attempt, in milliseconds. */
  readonly waitMs?: number | undefined
}

/** Last message of a turn stream: the outcome of the turn, tagged on `outcome`. */
export type OutcomeMessage =
  | {
      readonly outcome: 'done'
      /** Position of the reply; undefined if there was nothing to answer. */
      readonly position?: number | undefined
      /** Explanation, if there was nothing to answer. */
      readonly detail?: string | undefined
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
  /** No worker serves the store. The request is recorded, and the first worker that starts answers it. */
  | { readonly outcome: 'unserved'; readonly detail: string }
