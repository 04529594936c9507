import type { Command, ConversationCommand } from '../../commands/command.ts'
import type { BlockInput } from '../../events/block-types.ts'
import type { Covers, Event, EventData, Origin, Policy, Role } from '../../events/events.ts'
import type { CommandEnvelope } from './encode.ts'

// What the methods of a conversation take. Closed, and of alternatives exactly one, so that the compiler names what a method would
// refuse at run time; the schemas of commands/command.ts check the same for those who write JavaScript.

/** A string is shorthand for one text block. */
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
}
interface MessageFields {
  /** Id of the message. Default: the id of its event. */
  readonly messageId?: string | undefined
  /** The model's report on the call that produced the message. */
  readonly origin?: Origin | undefined
  /** Content shown to the model instead: an edit (`Condensed`), recorded in the same write. */
  readonly shown?: { readonly content: Content; readonly policy?: Policy | undefined } | undefined
}

/** Options common to all writers. */
export interface WriteOptions extends CommandEnvelope {
  /** Fail with `StaleContext` unless the conversation's last event is still at this position. */
  readonly after?: number | undefined
  /** `markers`: do not fail because of markers and restores after `after`. */
  readonly tolerate?: 'markers' | undefined
}

/** Options of an append at the end of what is shown. */
export interface AppendHere extends WriteOptions {
  readonly branchAt?: undefined
  readonly rewindTo?: undefined
  readonly again?: undefined
}
/** Options of an append that records the messages on an abandoned branch: the conversation's history stays the same. */
export interface AppendOnBranch extends WriteOptions {
  /** The position after which the branch starts. */
  readonly branchAt: number
  readonly rewindTo?: undefined
  readonly again?: undefined
}
/** Options of an append that first rewinds the conversation, in the same write, and continues from there. */
export interface AppendAfterRewind extends WriteOptions {
  readonly branchAt?: undefined
  /** The position to rewind to. */
  readonly rewindTo: number
  /** Markers, restores and configurations after that position to keep: they are recorded again before the messages. */
  readonly again?: readonly Event<'Configured' | 'Condensed' | 'Truncated' | 'Restored'>[] | undefined
}
export type AppendOptions = AppendHere | AppendOnBranch | AppendAfterRewind

/** Content of requests other than messages. Omitted fields keep their values; null removes a field. */
export interface ConfigureInput extends WriteOptions {
  readonly system?: Content | null | undefined
  /** Tool definitions as in the API. */
  readonly tools?: readonly object[] | null | undefined
  readonly model?: string | null | undefined
  /** Other fields of a request's body. Secrets are recorded as references. */
  readonly parameters?: { readonly [name: string]: unknown } | null | undefined
}

/** A slice defined by how much of the effective history to keep. Its ends are moved so that no tool call is separated from its result. */
export interface SliceByShare {
  /** Fraction of the items after the kept first messages, rounded down; 0 < fraction ≤ 1. */
  readonly fraction?: number | undefined
  /** Number of messages to keep at the beginning. Default 1: the task. */
  readonly keepFirst?: number | undefined
  /** Number of messages to keep at the end. Default 3; 1 with `fraction` or `keepTokens`. */
  readonly keepLast?: number | undefined
  /** Keep the newest items, up to about this many tokens. */
  readonly keepTokens?: number | undefined
  readonly covers?: undefined
}
/** Exactly this slice: used as given, or refused. */
export interface SliceByPositions {
  /** Positions of the first and the last item, both shown and inclusive. */
  readonly covers: Covers
  readonly fraction?: undefined
  readonly keepFirst?: undefined
  readonly keepLast?: undefined
  readonly keepTokens?: undefined
}

interface Summary extends WriteOptions {
  /** Text or blocks of one user message, or whole messages. */
  readonly summary: Content | readonly { readonly role: Role; readonly content: Content }[]
  /** Source of the summary. Default `manual`. */
  readonly method?: EventData['Condensed']['method'] | undefined
  /** The model's report on the call that produced the summary. */
  readonly origin?: Origin | undefined
  /** Reason for an automatic write, if nobody requested it. */
  readonly policy?: Policy | undefined
}
export interface CondenseByShare extends SliceByShare, Summary {}
export interface CondenseByPositions extends SliceByPositions, Summary {}
export type CondenseInput = CondenseByShare | CondenseByPositions

interface Truncation extends WriteOptions {
  /** Reason, for later readers. */
  readonly reason?: string | undefined
  /** Reason for an automatic write, if nobody requested it. */
  readonly policy?: Policy | undefined
}
export interface TruncateByShare extends SliceByShare, Truncation {}
export interface TruncateByPositions extends SliceByPositions, Truncation {}
export type TruncateInput = TruncateByShare | TruncateByPositions

export interface RestoreInput extends WriteOptions {
  /** Position of a marker that is shown. */
  readonly marker: number
}

interface Rewinding extends WriteOptions {
  /** Reason, for later readers. */
  readonly reason?: string | undefined
}
export interface RewindToPosition extends Rewinding {
  /** Rewind to right after this position, on any branch; -1 empties the conversation. */
  readonly to: number
  readonly before?: undefined
  readonly turns?: undefined
}
export interface RewindBeforeMessage extends Rewinding {
  readonly to?: undefined
  /** Rewind to right before the message at this position. */
  readonly before: number
  readonly turns?: undefined
}
export interface RewindTurns extends Rewinding {
  readonly to?: undefined
  readonly before?: undefined
  /** Rewind to right before the user's n-th last turn: a user message that contains more than tool results. */
  readonly turns: number
}
export type RewindInput = RewindToPosition | RewindBeforeMessage | RewindTurns

export interface UndoInput extends WriteOptions {
  /** Reason, for later readers. */
  readonly reason?: string | undefined
}

interface Appending {
  readonly messages: readonly MessageInput[]
}
/** Inputs of the methods that take more than the fields of their command, by name. */
interface OwnInputs {
  readonly append: Appending & AppendOptions
  readonly configure: ConfigureInput
  readonly condense: CondenseInput
  readonly truncate: TruncateInput
  readonly restore: RestoreInput
  readonly rewind: RewindInput
  readonly undo: UndoInput
}
/** The fields of a command, and who sends it. */
export type InputOf<T extends ConversationCommand['type']> = T extends keyof OwnInputs
  ? OwnInputs[T]
  : Omit<Command<T>, 'type'> & CommandEnvelope
type Tagged<T extends string, Input> = { readonly type: T } & Input
/** A command on a conversation as data: what the method of that name takes. */
export type CommandInput = {
  readonly [T in ConversationCommand['type']]: Tagged<T, InputOf<T>>
}[ConversationCommand['type']]
