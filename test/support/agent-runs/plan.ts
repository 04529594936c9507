import type { AnyBlock } from '../../../src/events/blocks.ts'
import type { Fault, StopReason } from '../../../src/testing/messages-api/replies.ts'

// What happens in an agent run, as plain data: what is said, what is done meanwhile, and what goes wrong.

/** What somebody does to a conversation, between turns or in the middle of one. Numbers pick one of however many there are. */
export type Act =
  | { readonly type: 'say'; readonly role: 'user' | 'system'; readonly content: readonly AnyBlock[] }
  | { readonly type: 'rewind'; readonly to: 'position' | 'turns' | 'before'; readonly back: number }
  | { readonly type: 'undo' }
  | { readonly type: 'restore'; readonly which: number }
  | { readonly type: 'condense' | 'truncate'; readonly fraction: number; readonly keepLast: number }
  | { readonly type: 'configure'; readonly system: string }
  /** Between turns, what comes next happens in the fork. */
  | { readonly type: 'fork'; readonly back: number }
  /** In the middle of a turn: another one, of the same conversation. */
  | { readonly type: 'turn'; readonly options: TurnPlan }
  /** Of the turn that is under way. */
  | { readonly type: 'abort' }
  /** The turn under way is forgotten where it is, and the store opened anew. */
  | { readonly type: 'crash' }

/** What a model says to one request. */
export interface Said {
  readonly content: readonly AnyBlock[]
  readonly stop?: StopReason
  readonly fault?: Fault | 'overloaded' | 'retry' | 'failed'
  /** Each event of the stream comes alone. */
  readonly isSlow?: boolean
  /** What happens before it is said. */
  readonly meanwhile?: Act
}

/** A model at an endpoint of Chat Completions, and what it is asked to take. */
export interface ChatPlan {
  readonly reasoning: boolean
  readonly images: boolean
  readonly system: 'system' | 'developer'
}

export interface TurnPlan {
  /** Undefined: a model at the Messages API. */
  readonly chat?: ChatPlan | undefined
  readonly model: 'a' | 'b'
  readonly system: 'none' | 'string' | 'blocks'
  readonly tools: number
  readonly thinks: boolean
  readonly cache: '5m' | '1h' | false
  readonly systemMessages: boolean
  readonly summarizer: 'default' | 'small' | 'other' | 'own' | 'throws' | 'fails' | 'off'
  readonly keepPartial: boolean
  readonly keepLate: boolean
  /** What the settings say that the model takes, by what it takes. */
  readonly claimed: number
  readonly percentage: number
  readonly keepLast: number
  readonly maxCalls: number
  readonly maxTokens: number
  readonly retries: 0 | 1
  /** The event of the replies' streams that the turn is aborted at. */
  readonly abortAt?: number
  /** How the turn is read: awaited, event by event, or slowly. */
  readonly reads?: 'slowly' | 'fast'
  /** The most calls of a model. */
  readonly budget?: number
  /** Names of tools that end the turn. */
  readonly stopWhen?: readonly string[]
  /** The model of every other step is the other one. */
  readonly alternates?: boolean
}

/** Somebody's conversation, and the forks that it goes on in. */
export interface Thread {
  /** What its models take, in tokens. */
  readonly window: number
  /** What the models say, one a request; after that they are content. */
  readonly replies: readonly Said[]
  readonly summaries: readonly Said[]
  /** What happens while tools run, one a run. */
  readonly meanwhile: readonly (Act | undefined)[]
  readonly steps: readonly Act[]
}
export interface Plan {
  readonly store: 'memory' | 'sqlite'
  readonly threads: readonly Thread[]
}
