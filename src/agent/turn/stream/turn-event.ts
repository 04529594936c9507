import type { Block } from '../../../events/blocks.ts'
import type { Covers } from '../../../events/events.ts'
import type { ModelError } from '../../models/model.ts'
import type { Usage } from '../../models/usage.ts'

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
interface OfCall {
  /** Id of the tool call. */
  readonly call: string
  readonly tool: string
}
/** A piece of a call's input, emitted while the model is writing it. */
export interface ToolInputEvent extends OfCall {
  readonly type: 'tool-input'
  readonly index: number
  /** Piece of the input's JSON text. All pieces of a call, in order, form the complete text. */
  readonly json: string
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
/** A call has received a result that is not an error. */
export interface ToolEndedEvent extends Answered {
  readonly type: 'tool-ended'
}
/** A call has received an error as its result: its tool failed, timed out, was aborted, does not exist, or was interrupted earlier. */
export interface ToolFailedEvent extends Answered {
  readonly type: 'tool-failed'
}
interface MarkerWritten {
  /** Position of the `Condensed` or `Truncated` event in the log. */
  readonly position: number
  readonly covers: Covers
}
/** A slice of the context is now shown as a summary. */
export interface CondensedEvent extends MarkerWritten {
  readonly type: 'condensed'
}
/** A slice of the context is no longer shown. */
export interface TruncatedEvent extends MarkerWritten {
  readonly type: 'truncated'
}
/**
 * A model call failed and is retried, the user interrupted it and the model is called again, or another holder took over the
 * conversation. Discard all text, thinking and inputs since the last recorded reply: the next reply will not contain them.
 */
export interface RetryingEvent {
  readonly type: 'retrying'
  readonly error: ModelError
  /** Milliseconds until the next attempt. */
  readonly wait: number
  /** Number of the next attempt: 2 or more for a retry; 1 after an interruption, because the next request is a different one. */
  readonly try: number
}
/** The turn ends because these calls wait for a decision or a result. The next turn continues from there. */
export interface WaitingEvent {
  readonly type: 'waiting'
  readonly why: 'approval' | 'handed-back'
  readonly calls: readonly WaitingCall[]
}
/** Another holder is running a turn of the conversation. This turn continues after that one has ended. */
export interface HeldEvent {
  readonly type: 'held'
  /** Name under which the log records the worker or program. */
  readonly by: string
}
/** A call that waits for approval or for an outside result. */
export interface WaitingCall extends OfCall {
  readonly input: unknown
  /** Deadline for the approval: ISO 8601, UTC. */
  readonly until?: string
}
/** A reply has been recorded. */
export interface ReplyRecordedEvent {
  readonly type: 'reply'
  readonly position: number
  /** Content of the reply, verbatim. */
  readonly content: readonly Block[]
  readonly usage: Usage
  /** Stop reason given by the model; null if the reply broke off and its received part was recorded (`keepPartial`). */
  readonly stopReason: string | null | undefined
}

/** A tool call that this process has answered. */
export interface ToolRun extends OfCall {
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

/** Function that is called with each event of a turn and never throws. */
export type Emit = (event: InterimEvent) => void

/** Ignores all events. */
export const unheard: Emit = () => {}
