import type { Command, ConversationCommand } from '../../commands/command.ts'
import type { BlockInput } from '../../events/block-types.ts'
import type { Covers, Event, EventData, Origin, Policy, Role } from '../../events/events.ts'
import type { CommandEnvelope } from './encode.ts'

// Inputs of the methods of a conversation. The types allow no unknown fields and exactly one of several alternatives, so that the
// compiler reports what a method would refuse at run time. The schemas in commands/command.ts check the same for JavaScript callers.

/** Content of a message. A string is shorthand for one text block. */
type Content = string | readonly BlockInput[]

/** A message to append. A message of role `system` may have no content, as in the API. */
export type MessageInput = SaidInput | SystemInput
export interface SaidInput extends MessageFields {
  readonly role: Role
  readonly content: Content
}
export interface SystemInput extends MessageFields {
  readonly role: 'system'
  readonly content?: Content | undefined
  /** Settings of the Messages API that hold from this message on, such as `{ effort: 'low' }`. */
  readonly output_config?: object | null | undefined
}
interface MessageFields {
  /** Id of the message. Default: the id of its event. */
  readonly messageId?: string | undefined
  /** Data about the model call that produced the message, such as the model, stop reason and usage. */
  readonly origin?: Origin | undefined
  /** Content to show to the model instead. It is recorded as an edit (`Condensed`) in the same write. */
  readonly shown?: { readonly content: Content; readonly policy?: Policy | undefined } | undefined
}

/** Options common to all writers. */
export interface WriteOptions extends CommandEnvelope {
  /**
   * Expected last position of the conversation. The write fails with `StaleContext` if the conversation's last event is at another
   * position.
   */
  readonly after?: number | undefined
  /** With `markers`, the write does not fail because of markers and restores after `after`. */
  readonly tolerate?: 'markers' | undefined
}

/** Options of an append at the end of the effective history. */
export interface AppendHere extends WriteOptions {
  readonly branchAt?: undefined
  readonly rewindTo?: undefined
  readonly again?: undefined
}
/** Options of an append that records the messages on an abandoned branch and leaves the conversation's history unchanged. */
export interface AppendOnBranch extends WriteOptions {
  /** The position after which the branch starts. */
  readonly branchAt: number
  readonly rewindTo?: undefined
  readonly again?: undefined
}
/** Options of an append that first rewinds the conversation, in the same write. */
export interface AppendAfterRewind extends WriteOptions {
  readonly branchAt?: undefined
  /** The position to rewind to. */
  readonly rewindTo: number
  /**
   * Markers, restores and configurations after the rewind position that should stay in effect. They are recorded again before the
   * messages.
   */
  readonly again?: readonly Event<'Configured' | 'Condensed' | 'Truncated' | 'Restored'>[] | undefined
}
export type AppendOptions = AppendHere | AppendOnBranch | AppendAfterRewind

/** Content of a request other than its messages. Omitted fields keep their values; null removes a field. */
export interface ConfigureInput extends WriteOptions {
  readonly system?: Content | null | undefined
  /** Tool definitions as in the API. */
  readonly tools?: readonly object[] | null | undefined
  readonly model?: string | null | undefined
  /** Other fields of the request body. Secrets are recorded as references. */
  readonly parameters?: { readonly [name: string]: unknown } | null | undefined
}

/**
 * A slice defined by how much of the effective history to keep. Its boundaries are moved so that no tool call is separated from its
 * result.
 */
export interface SliceByShare {
  /** Size of the slice as a fraction of the items after the kept first messages, rounded down; 0 < fraction ≤ 1. */
  readonly fraction?: number | undefined
  /** Number of messages to keep at the beginning. Default 1, which is usually the task. */
  readonly keepFirst?: number | undefined
  /** Number of messages to keep at the end. Default 3; 1 with `fraction` or `keepTokens`. */
  readonly keepLast?: number | undefined
  /** Approximate maximum number of tokens of the newest items to keep. */
  readonly keepTokens?: number | undefined
  readonly covers?: undefined
}
/** A slice defined by the positions of its ends. It is used exactly as given, or refused. */
export interface SliceByPositions {
  /** Positions of the first and the last item of the slice, inclusive. Both items must be shown. */
  readonly covers: Covers
  readonly fraction?: undefined
  readonly keepFirst?: undefined
  readonly keepLast?: undefined
  readonly keepTokens?: undefined
}

interface Summary extends WriteOptions {
  /** The summary: text or blocks of one user message, or whole messages. */
  readonly summary: Content | readonly { readonly role: Role; readonly content: Content }[]
  /** Source of the summary. Default `manual`. */
  readonly method?: EventData['Condensed']['method'] | undefined
  /** Data about the model call that produced the summary, such as the model, stop reason and usage. */
  readonly origin?: Origin | undefined
  /** Reason for a summary that a turn wrote by itself. */
  readonly policy?: Policy | undefined
}
export interface CondenseByShare extends SliceByShare, Summary {}
export interface CondenseByPositions extends SliceByPositions, Summary {}
export type CondenseInput = CondenseByShare | CondenseByPositions

interface Truncation extends WriteOptions {
  /** Reason to record with the truncation, for later readers. */
  readonly reason?: string | undefined
  /** Reason for a truncation that a turn wrote by itself. */
  readonly policy?: Policy | undefined
}
export interface TruncateByShare extends SliceByShare, Truncation {}
export interface TruncateByPositions extends SliceByPositions, Truncation {}
export type TruncateInput = TruncateByShare | TruncateByPositions

export interface RestoreInput extends WriteOptions {
  /** Position of the marker to restore; the marker must be shown. */
  readonly marker: number
}

interface Rewinding extends WriteOptions {
  /** Reason to record with the rewind, for later readers. */
  readonly reason?: string | undefined
}
export interface RewindToPosition extends Rewinding {
  /**
   * Position to rewind to, on any branch. The rewind returns the conversation to its state right after this position; -1 empties the
   * conversation.
   */
  readonly to: number
  readonly before?: undefined
  readonly turns?: undefined
}
export interface RewindBeforeMessage extends Rewinding {
  readonly to?: undefined
  /** Position of a message. The rewind returns the conversation to its state right before that message. */
  readonly before: number
  readonly turns?: undefined
}
export interface RewindTurns extends Rewinding {
  readonly to?: undefined
  readonly before?: undefined
  /** Number of the user's turns to rewind. A turn begins with a user message that contains more than tool results. */
  readonly turns: number
}
export type RewindInput = RewindToPosition | RewindBeforeMessage | RewindTurns

export interface UndoInput extends WriteOptions {
  /** Reason to record with the undo, for later readers. */
  readonly reason?: string | undefined
}

interface Appending {
  readonly messages: readonly MessageInput[]
}
/** Inputs of the methods that accept more than the fields of their command, by command name. */
interface OwnInputs {
  readonly append: Appending & AppendOptions
  readonly configure: ConfigureInput
  readonly condense: CondenseInput
  readonly truncate: TruncateInput
  readonly restore: RestoreInput
  readonly rewind: RewindInput
  readonly undo: UndoInput
}
/** The input of a command: its fields and its envelope. */
export type InputOf<T extends ConversationCommand['type']> = T extends keyof OwnInputs
  ? OwnInputs[T]
  : Omit<Command<T>, 'type'> & CommandEnvelope
type Tagged<T extends string, Input> = { readonly type: T } & Input
/** A command on a conversation as data: its type and the input of the method of that name. */
export type CommandInput = {
  readonly [T in ConversationCommand['type']]: Tagged<T, InputOf<T>>
}[ConversationCommand['type']]
