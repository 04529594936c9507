import type { Command, ConversationCommand } from '../../commands/command.ts'
import type { BlockInput } from '../../events/block-types.ts'
import type { Covers, Event, EventData, Origin, Policy, Role } from '../../events/events.ts'
import type { CommandEnvelope } from './encode.ts'

// What the methods of a conversation take. Closed, and of alternatives exactly one, so that the compiler names what a method would
// refuse at run time; the schemas of commands/command.ts check the same for those who write JavaScript.

/** A string is short for one text block. */
type Content = string | readonly BlockInput[]

/** A message to be appended. A message of role `system` may be without content, as in the API. */
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
  /** Names the message. Default: the id of its event. */
  readonly messageId?: string | undefined
  /** The model's own account of the call that it comes from. */
  readonly origin?: Origin | undefined
  /** What the model is shown in its place: an edit (`Condensed`), recorded in the same write. */
  readonly shown?: { readonly content: Content; readonly policy?: Policy | undefined } | undefined
}

/** What every writer takes besides what it asks for. */
export interface WriteOptions extends CommandEnvelope {
  /** Refuse (`StaleContext`) unless the conversation's last event is still the one at this position. */
  readonly after?: number | undefined
  /** `markers`: markers and restores that came after `after` are no reason to refuse. */
  readonly tolerate?: 'markers' | undefined
}

/** What an append takes: the messages go to the end of what is shown. */
export interface AppendHere extends WriteOptions {
  readonly branchAt?: undefined
  readonly rewindTo?: undefined
  readonly again?: undefined
}
/** The messages are recorded on an abandoned branch: the conversation stays what it is. */
export interface AppendOnBranch extends WriteOptions {
  /** The position after which the branch starts. */
  readonly branchAt: number
  readonly rewindTo?: undefined
  readonly again?: undefined
}
/** The conversation is rewound first, in the same write, and continues from there. */
export interface AppendAfterRewind extends WriteOptions {
  readonly branchAt?: undefined
  /** The position to rewind to. */
  readonly rewindTo: number
  /** Markers, restores and configurations since that position that are to stay, recorded again before the messages. */
  readonly again?: readonly Event<'Configured' | 'Condensed' | 'Truncated' | 'Restored'>[] | undefined
}
export type AppendOptions = AppendHere | AppendOnBranch | AppendAfterRewind

/** What requests hold besides messages. What is left out stays as it is; null removes it. */
export interface ConfigureInput extends WriteOptions {
  readonly system?: Content | null | undefined
  /** As the API takes them. */
  readonly tools?: readonly object[] | null | undefined
  readonly model?: string | null | undefined
  /** Other fields of a request's body. A reference is recorded in place of a secret. */
  readonly parameters?: { readonly [name: string]: unknown } | null | undefined
}

/** A slice by how much of the effective history stays. It is moved to cuts that part no tool call from its result. */
export interface SliceByShare {
  /** The fraction of the items after the kept first messages, rounded down; 0 < fraction ≤ 1. */
  readonly fraction?: number | undefined
  /** How many messages at the beginning stay. Default 1: the task. */
  readonly keepFirst?: number | undefined
  /** How many messages at the end stay. Default 3; with `fraction` or `keepTokens` 1. */
  readonly keepLast?: number | undefined
  /** The newest items stay, up to about this many tokens. */
  readonly keepTokens?: number | undefined
  readonly covers?: undefined
}
/** Exactly this slice: taken as it is, or refused. */
export interface SliceByPositions {
  /** The positions of two shown items, both included. */
  readonly covers: Covers
  readonly fraction?: undefined
  readonly keepFirst?: undefined
  readonly keepLast?: undefined
  readonly keepTokens?: undefined
}

interface Summary extends WriteOptions {
  /** Text or blocks (of one user message), or whole messages. */
  readonly summary: Content | readonly { readonly role: Role; readonly content: Content }[]
  /** Who wrote the summary. Default `manual`. */
  readonly method?: EventData['Condensed']['method'] | undefined
  /** The model's own account of the call that the summary comes from. */
  readonly origin?: Origin | undefined
  /** Why, where nobody asked for it. */
  readonly policy?: Policy | undefined
}
export interface CondenseByShare extends SliceByShare, Summary {}
export interface CondenseByPositions extends SliceByPositions, Summary {}
export type CondenseInput = CondenseByShare | CondenseByPositions

interface Truncation extends WriteOptions {
  /** For those who look later. */
  readonly reason?: string | undefined
  /** Why, where nobody asked for it. */
  readonly policy?: Policy | undefined
}
export interface TruncateByShare extends SliceByShare, Truncation {}
export interface TruncateByPositions extends SliceByPositions, Truncation {}
export type TruncateInput = TruncateByShare | TruncateByPositions

export interface RestoreInput extends WriteOptions {
  /** The position of a marker that is shown. */
  readonly marker: number
}

interface Rewinding extends WriteOptions {
  /** For those who look later. */
  readonly reason?: string | undefined
}
export interface RewindToPosition extends Rewinding {
  /** To right after this position, on whatever branch; -1 empties the conversation. */
  readonly to: number
  readonly before?: undefined
  readonly turns?: undefined
}
export interface RewindBeforeMessage extends Rewinding {
  readonly to?: undefined
  /** To right before the message at this position. */
  readonly before: number
  readonly turns?: undefined
}
export interface RewindTurns extends Rewinding {
  readonly to?: undefined
  readonly before?: undefined
  /** To right before the n-th last turn of the user: a user message that is more than tool results. */
  readonly turns: number
}
export type RewindInput = RewindToPosition | RewindBeforeMessage | RewindTurns

export interface UndoInput extends WriteOptions {
  /** For those who look later. */
  readonly reason?: string | undefined
}

interface Appending {
  readonly messages: readonly MessageInput[]
}
/** What the method of a name takes, for those that say more than the fields of the command. */
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
