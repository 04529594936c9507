import type { Configuration, Covers, EventData, Event, Origin, Policy, Role } from '../events/events.ts'
import type { NewContent, NewMessage } from '../events/new-message.ts'

// The commands on a conversation, as types. They have names for the same reason as the data of events; that they say what the schemas in
// command.ts check is itself checked by the compiler (test/types/schemas.ts).

/** Guards against events written since a command was computed. */
interface Fenced {
  /** Refuse the command (`StaleContext`) unless the conversation's last event is still the one at this position. */
  readonly after?: number | undefined
  /** `markers`: with `after`, tolerate markers and restores recorded since. */
  readonly tolerate?: 'markers' | undefined
}

/** The slice of the effective history to hide: given by `covers`, or by how much should stay. */
export interface Selection {
  /** Fraction of the items after the kept first messages, rounded down; 0 < fraction ≤ 1. */
  readonly fraction?: number | undefined
  /** Number of messages to keep at the beginning. Default 1: the task. A beginning that is already hidden keeps none. */
  readonly keepFirst?: number | undefined
  /** Number of messages to keep at the end. Default 3; 1 with `fraction` or `keepTokens`. */
  readonly keepLast?: number | undefined
  /** Keep the newest items, up to about this many tokens. */
  readonly keepTokens?: number | undefined
  /** Exactly this slice, given by the positions of two shown items, both inclusive; it is used as given or refused. */
  readonly covers?: Covers | undefined
}

export interface AppendCommand extends Fenced {
  readonly type: 'append'
  /** Messages to append: at least one. */
  readonly messages: readonly NewMessage[]
  /** Record the messages on an abandoned branch that starts after this position: the conversation itself is unchanged. */
  readonly branchAt?: number | undefined
  /** Rewind to this position first: the conversation continues from there. Not with `branchAt`. */
  readonly rewindTo?: number | undefined
  /** With `rewindTo`: markers, restores and configurations since that position to keep; they are recorded again before the messages. */
  readonly again?: readonly Event<'Configured' | 'Condensed' | 'Truncated' | 'Restored'>[] | undefined
}

/** A change of the configuration. Omitted fields stay unchanged; null removes a field. */
export interface ConfigureCommand extends Fenced {
  readonly type: 'configure'
  readonly system?: Configuration['system'] | null
  readonly tools?: Configuration['tools'] | null
  readonly model?: Configuration['model'] | null
  readonly parameters?: Configuration['parameters'] | null
}

/** A message of a summary. */
interface SummaryMessage {
  readonly role: Role
  readonly content: NewContent
}
/** Text or blocks (of one user message), or complete messages. */
export type Summary = NewContent | readonly SummaryMessage[]

export interface CondenseCommand extends Fenced, Selection {
  readonly type: 'condense'
  readonly summary: Summary
  /** Writer of the summary. Default `manual`. */
  readonly method?: EventData['Condensed']['method'] | undefined
  readonly origin?: Origin | undefined
  /** Reason for which a turn wrote it, if a turn did. */
  readonly policy?: Policy | undefined
}

export interface TruncateCommand extends Fenced, Selection {
  readonly type: 'truncate'
  readonly reason?: string | undefined
  readonly policy?: Policy | undefined
}

export interface RestoreCommand extends Fenced {
  readonly type: 'restore'
  /** Position of a marker that is shown. */
  readonly marker: number
}

/** A rewind, with exactly one of `to`, `before` and `turns`. */
export interface RewindCommand extends Fenced {
  readonly type: 'rewind'
  /** Rewind to right after this position, on any branch; `START` (-1) empties the conversation. */
  readonly to?: number | undefined
  /** Rewind to right before this message. */
  readonly before?: number | undefined
  /** Rewind to right before the n-th last turn of the user: a user message that is more than tool results. */
  readonly turns?: number | undefined
  readonly reason?: string | undefined
}

export interface UndoCommand extends Fenced {
  readonly type: 'undo'
  readonly reason?: string | undefined
}

export interface ForkCommand {
  readonly type: 'fork'
  /** Id of the conversation to create. */
  readonly id: string
  /** Position with whose history the fork begins. Default: the last one. */
  readonly at?: number | undefined
}

interface Commands {
  readonly append: AppendCommand
  readonly configure: ConfigureCommand
  readonly condense: CondenseCommand
  readonly truncate: TruncateCommand
  readonly restore: RestoreCommand
  readonly rewind: RewindCommand
  readonly undo: UndoCommand
  readonly fork: ForkCommand
}

export type CommandType = keyof Commands
/** A command whose input was checked, tagged on `type`. */
export type Command<T extends CommandType = CommandType> = Commands[T]
/** A command on one conversation; a fork concerns two and has a decider of its own. */
export type ConversationCommand = Command<Exclude<CommandType, 'fork'>>
