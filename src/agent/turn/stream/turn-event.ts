import type { Block } from '../../../events/blocks.ts'
import type { Covers } from '../../../events/events.ts'
import type { ModelError } from '../../models/model.ts'
import type { Usage } from '../spending/usage.ts'

/** A piece of a text block. */
export interface TextEvent {
  readonly type: 'text'
  /** The block's index in the reply. */
  readonly index: number
  readonly text: string
}
/** A piece of a thinking block. */
export interface ThinkingEvent {
  readonly type: 'thinking'
  readonly index: number
  readonly thinking: string
}
/** A piece of a call's input, which the model is still writing. */
export interface ToolInputEvent {
  readonly type: 'tool-input'
  readonly index: number
  /** The call's id, and the tool's name. */
  readonly call: string
  readonly tool: string
  /** Piece of the JSON of the input; the pieces of a call together are the whole. */
  readonly json: string
}
interface OfCall {
  /** The call's id, and the tool's name. */
  readonly call: string
  readonly tool: string
}
/** A tool's function is called. */
export interface ToolStartedEvent extends OfCall {
  readonly type: 'tool-started'
  readonly input: unknown
}
/** Progress reported by a running tool (`context.progress`). Not recorded. */
export interface ToolProgressEvent extends OfCall {
  readonly type: 'tool-progress'
  readonly text: string
}
interface Answered extends OfCall {
  /** Milliseconds since the call began. */
  readonly ms: number
  /** Content of the result, as shown to the model. */
  readonly content: string | readonly Block[]
}
/** A call has a result. */
export interface ToolEndedEvent extends Answered {
  readonly type: 'tool-ended'
}
/** A call has a result that is an error: the tool failed, took too long, was aborted, does not exist, or was interrupted earlier. */
export interface ToolFailedEvent extends Answered {
  readonly type: 'tool-failed'
}
/** A slice of the context is now shown as a summary. */
export interface CondensedEvent {
  readonly type: 'condensed'
  /** Position of the `Condensed` event in the log. */
  readonly position: number
  readonly covers: Covers
}
/** A slice of the context is no longer shown. */
export interface TruncatedEvent {
  readonly type: 'truncated'
  /** Position of the `Truncated` event in the log. */
  readonly position: number
  readonly covers: Covers
}
/**
 * A model call failed and is retried, or the user interrupted it and the model is called again, or another holder has taken the
 * conversation over: the next reply will contain none of the texts, thinking and inputs since the last one.
 */
export interface RetryingEvent {
  readonly type: 'retrying'
  readonly error: ModelError
  /** Milliseconds until the next try. */
  readonly wait: number
  /** Number of the next try: 2 or more; 1 after an interruption, as the next request is another one. */
  readonly try: number
}
/** The turn ends here until somebody decides on these calls, or supplies their results. */
export interface WaitingEvent {
  readonly type: 'waiting'
  readonly why: 'approval' | 'handed-back'
  readonly calls: readonly WaitingCall[]
}
/** Another holder gives the conversation a turn: this one continues when that turn has ended. */
export interface HeldEvent {
  readonly type: 'held'
  /** Name of the worker or program in the log. */
  readonly by: string
}
/** A waiting call. */
export interface WaitingCall extends OfCall {
  readonly input: unknown
  /** Deadline of an approval: ISO 8601, UTC. */
  readonly until?: string
}
/** A reply is recorded. */
export interface ReplyRecordedEvent {
  readonly type: 'reply'
  readonly position: number
  /** Verbatim. */
  readonly content: readonly Block[]
  readonly usage: Usage
  /** Stop reason of the model; null if the reply broke off and was kept (`keepPartial`). */
  readonly stopReason: string | null | undefined
}

/** A tool call that this process has answered. */
export interface ToolRun {
  /** The call's id, and the tool's name. */
  readonly call: string
  readonly tool: string
  /** Duration in milliseconds. */
  readonly ms: number
  /** True if the result is an error. */
  readonly isError: boolean
}

/** Event of a turn in progress, tagged on `type`. */
export type InterimEvent =
  | TextEvent
  | ThinkingEvent
  | ToolInputEvent
  | ToolStartedEvent
  | ToolProgressEvent
  | ToolEndedEvent
  | ToolFailedEvent
  | CondensedEvent
  | TruncatedEvent
  | RetryingEvent
  | WaitingEvent
  | ReplyRecordedEvent
  | HeldEvent

/** Called with each event of a turn. Never throws. */
export type Emit = (event: InterimEvent) => void

/** Ignores all events. */
export const unheard: Emit = () => {}
