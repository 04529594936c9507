import type { Configuration, Covers, EventData, Event, Origin, Policy, Role } from '../events/events.ts'
import type { NewContent, NewMessage } from '../events/new-message.ts'

// The commands on a conversation, as types. They have names for the same reason as the data of events. The compiler checks that they
// match the schemas in command.ts (test/types/schemas.ts).

/** Conditions under which a command is refused because events were written since it was computed. */
interface Fenced {
  /** Position that must still be the conversation's last one; otherwise the command is refused with `StaleContext`. */
  readonly after?: number | undefined
  /** Events allowed after position `after`: `markers` allows markers and restores. Any other event makes the command stale. */
  readonly tolerate?: 'markers' | undefined
}

/** The slice of the effective history to hide, given either by `covers` or by how much to keep. */
export interface Selection {
  /** Fraction of the items after the kept first messages to hide, rounded down to whole items; 0 < fraction ≤ 1. */
  readonly fraction?: number | undefined
  /** Number of messages to keep at the beginning; messages after the first marker do not count. Default 1: the task. */
  readonly keepFirst?: number | undefined
  /** Number of messages to keep at the end. Default 3; 1 with `fraction` or `keepTokens`. */
  readonly keepLast?: number | undefined
  /** Approximate number of tokens to keep: the newest items, up to this total. */
  readonly keepTokens?: number | undefined
  /**
   * Exact slice to hide, given by the positions of its first and last item, both inclusive. It is never adjusted: an unsafe slice is
   * refused.
   */
  readonly covers?: Covers | undefined
}

export interface AppendCommand extends Fenced {
  readonly type: 'append'
  /** Messages to append: at least one. */
  readonly messages: readonly NewMessage[]
  /** Position after which the messages are recorded on an abandoned branch; the conversation itself is unchanged. */
  readonly branchAt?: number | undefined
  /** Position to rewind to before appending; the conversation continues from there. Not with `branchAt`. */
  readonly rewindTo?: number | undefined
  /**
   * With `rewindTo`: markers, restores and configurations to keep although they came after that position. They are recorded again
   * before the messages.
   */
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

interface SummaryMessage {
  readonly role: Role
  readonly content: NewContent
}
/** A summary: text or blocks of one user message, or complete messages. */
export type Summary = NewContent | readonly SummaryMessage[]

export interface CondenseCommand extends Fenced, Selection {
  readonly type: 'condense'
  readonly summary: Summary
  /** Writer of the summary. Default `manual`. */
  readonly method?: EventData['Condensed']['method'] | undefined
  readonly origin?: Origin | undefined
  /** Reason for writing the summary, if a turn wrote it. */
  readonly policy?: Policy | undefined
}

export interface TruncateCommand extends Fenced, Selection {
  readonly type: 'truncate'
  readonly reason?: string | undefined
  readonly policy?: Policy | undefined
}

export interface RestoreCommand extends Fenced {
  readonly type: 'restore'
  /** Position of the visible marker to restore. */
  readonly marker: number
}

/** A rewind, with exactly one of `to`, `before` and `turns`. */
export interface RewindCommand extends Fenced {
  readonly type: 'rewind'
  /**
   * Position to rewind to, on any branch: the conversation returns to its state right after this position. `START` (-1) empties the
   * conversation.
   */
  readonly to?: number | undefined
  /** Position of a message: the conversation is rewound to right before this message. */
  readonly before?: number | undefined
  /**
   * Number of user turns to rewind, back to right before a user message. Messages that contain only tool results do not count as turns.
   */
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
  /** Position at which to fork: the new conversation begins with the history at this position. Default: the last one. */
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
/** A command with checked input, tagged on `type`. */
export type Command<T extends CommandType = CommandType> = Commands[T]
/** A command on one conversation. Excludes forks, which involve two conversations and have their own decider. */
export type ConversationCommand = Command<Exclude<CommandType, 'fork'>>
