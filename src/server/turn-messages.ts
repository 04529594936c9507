import type { AwaitedCall, Origin } from '../index.ts'

// What the stream of a turn says besides events of the turn and of the conversation.

/** The first message. */
export interface AskedMessage {
  readonly conversation: string
  /** The last position when it was asked. */
  readonly position: number
  /** The same under this id continues the stream. */
  readonly commandId: string
  /** How many workers there are. */
  readonly workers: number
  /** What comes of a reply: what the model writes as it writes it, or events once they are recorded. */
  readonly streams: 'tokens' | 'events'
  /** The same in words. */
  readonly detail: string
}
/** A worker has begun. */
export interface ClaimedMessage {
  readonly worker: string
  readonly attempt: number
  readonly streams: 'tokens' | 'events'
}
/** A worker has let go, before the model has finished. */
export interface ReleasedMessage {
  readonly worker: string
  readonly reason: string
  readonly error?: string | undefined
  /** Milliseconds until the next attempt. */
  readonly waitMs?: number | undefined
}

/** How a turn ended, tagged on `outcome`: the last message. */
export type OutcomeMessage =
  | {
      readonly outcome: 'done'
      /** Of the reply; undefined if there was nothing to answer. */
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
