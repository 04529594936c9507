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
/** A piece of the input of a call, which the model is still writing. */
export interface ToolInputEvent {
  readonly type: 'tool-input'
  readonly index: number
  /** The call's id, and the tool's name. */
  readonly call: string
  readonly tool: string
  /** The pieces of a call together are the JSON of its input. */
  readonly json: string
}
interface OfCall {
  /** The call's id, and the tool's name. */
  readonly call: string
  readonly tool: string
}
/** The function of a tool is called. */
export interface ToolStartedEvent extends OfCall {
  readonly type: 'tool-started'
  readonly input: unknown
}
/** What a tool says while it runs (`context.progress`). Not recorded. */
export interface ToolProgressEvent extends OfCall {
  readonly type: 'tool-progress'
  readonly text: string
}
interface Answered extends OfCall {
  /** Milliseconds since the call began. */
  readonly ms: number
  /** What the model is shown: the content of the result. */
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
  /** Of the `Condensed` in the log. */
  readonly position: number
  readonly covers: Covers
}
/** A slice of the context is no longer shown. */
export interface TruncatedEvent {
  readonly type: 'truncated'
  /** Of the `Truncated` in the log. */
  readonly position: number
  readonly covers: Covers
}
/**
 * A call of the model failed and is repeated, or the user interrupted it and the model is asked again, or somebody else has taken the
 * conversation over: nothing of the texts, thinking and inputs since the last reply will be in the next one.
 */
export interface RetryingEvent {
  readonly type: 'retrying'
  readonly error: ModelError
  /** Milliseconds until the next try. */
  readonly wait: number
  /** The number of the next try: 2 or more; 1 if it was interrupted, as the next request is another one. */
  readonly try: number
}
/** The turn ends here until somebody decides on these calls, or brings their results. */
export interface WaitingEvent {
  readonly type: 'waiting'
  readonly why: 'approval' | 'handed-back'
  readonly calls: readonly WaitingCall[]
}
/** Somebody else gives the conversation a turn: this one continues when that has ended. */
export interface HeldEvent {
  readonly type: 'held'
  /** The worker, or the program, as the log names it. */
  readonly by: string
}
/** A call that waits. */
export interface WaitingCall extends OfCall {
  readonly input: unknown
  /** When an approval comes too late: ISO 8601, UTC. */
  readonly until?: string
}
/** A reply is recorded. */
export interface ReplyRecordedEvent {
  readonly type: 'reply'
  readonly position: number
  /** Verbatim. */
  readonly content: readonly Block[]
  readonly usage: Usage
  /** Why the model stopped; null if the reply broke off and was kept (`keepPartial`). */
  readonly stopReason: string | null | undefined
}

/** A call of a tool that this process has answered. */
export interface ToolRun {
  /** The call's id, and the tool's name. */
  readonly call: string
  readonly tool: string
  /** Milliseconds. */
  readonly ms: number
  /** Whether the result is an error. */
  readonly isError: boolean
}

/** What happens in a turn before it is done, tagged on `type`. */
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

/** Is told of everything that happens in a turn. Never throws. */
export type Emit = (event: InterimEvent) => void

/** Nobody listens. */
export const unheard: Emit = () => {}
