import type { NewMessage } from '../../commands/command.ts'
import type { StoredEvent } from '../../events/codec.ts'
import type { Configuration, EventData, Message, Origin, Role, Workspace } from '../../events/events.ts'
import type { NoteFact } from '../../events/notes.ts'
import type { LazyList } from './shelf.ts'

/** The library's own import formats. */
export const formats = [
  'claude-code',
  'codex',
  'copilot',
  'gemini-cli',
  'opencode',
  'pi',
  'roo',
  'openai',
  'responses',
  'gemini',
  'ai-sdk',
  'atif',
  'anthropic',
  'palimpsest',
] as const
export type BuiltInFormat = (typeof formats)[number]
/** Name of a format: one of the library's own, or a registered one. */
export type Format = BuiltInFormat | (string & Record<never, never>)

/** The formats in which other programs continue a conversation. */
export const sessionFormats = ['claude-code', 'codex', 'pi', 'opencode'] as const
/** Name of a format in which another program continues a conversation. */
export type SessionFormatName = (typeof sessionFormats)[number]

/** Reports whether other programs continue a conversation from this format. */
export const isSessionFormat = (format: string): format is SessionFormatName =>
  sessionFormats.some((name) => name === format)

/** The plan for importing a session of another program. */
export interface ImportPlan {
  readonly format: Format
  readonly conversations: readonly ConversationPlan[]
  readonly report: ImportReport
}

/** The plan for importing stored conversations unchanged, including their ids, metadata and hash chain. */
export interface StoredImport {
  readonly format: 'palimpsest'
  /** The conversations of the file. A fork comes after its parent if the file contains both. */
  readonly conversations: readonly StoredConversation[]
  readonly report: ImportReport
}

/** Reports whether a plan consists of stored events, which are written unchanged. */
export const isStored = (plan: ImportPlan | StoredImport): plan is StoredImport =>
  plan.format === 'palimpsest'

export interface StoredConversation {
  readonly id: string
  /** Events by revision, from 0, without gaps. */
  readonly events: LazyList<StoredEvent>
  /** Events of the conversation's notes, by revision, from 0, without gaps. */
  readonly notes?: LazyList<StoredEvent>
}

/** The plan for importing one conversation of a file. `id` conforms to `conversationIdSchema`. */
export interface ConversationPlan {
  readonly id: string
  readonly actions: LazyList<ImportAction>
  /** Refs of actions that a shorter version of the file may have had and that this version withdraws. */
  readonly withdrawn?: readonly string[]
  /** Notes and links to record for the conversation. */
  readonly notes?: LazyList<PlannedNote>
  /** Number of leading actions that more lines of the file do not change, if it is known. */
  readonly settled?: number
}

/** A note or link in a file. `ref` is unique within the conversation and stays the same in every later version of the file. */
export type PlannedNote = { readonly ref: string; readonly time?: string } & (
  | { readonly type: 'Noted'; readonly data: Omit<NoteFact<'Noted'>['data'], 'at'> }
  | { readonly type: 'Linked'; readonly data: Omit<NoteFact<'Linked'>['data'], 'at'> }
)

/**
 * One action of a session, in file order.
 *
 * 1. `ref` is unique within the conversation and stays the same in every later, longer version of the file.
 * 2. Everything that an action refers to comes before it.
 * 3. `time` is in ISO 8601, UTC.
 * 4. `workspace` is the state of the files at that time, if the file says it there.
 */
export type ImportAction = {
  readonly ref: string
  readonly time?: string
  readonly workspace?: Workspace
} & ActionBody
/** The content of an action, without its ref and time. */
export type ActionBody =
  | { readonly type: 'message'; readonly message: NewMessage; readonly request?: AnsweredRequest }
  | ({ readonly type: 'condense'; readonly covers: RefCovers } & Condensation)
  | { readonly type: 'truncate'; readonly covers: RefCovers; readonly reason?: string }
  /** A rewind: the next action continues after the action `to`; null means from the empty conversation. */
  | { readonly type: 'rewind'; readonly to: string | null }
  /** A configuration. An optional one is left out before messages that an earlier import wrote without it. */
  | { readonly type: 'configure'; readonly configuration: Configuration; readonly isOptional?: true }
export type ActionType = ImportAction['type']

/** The request that a reply answers, as the file records it: made of the messages of earlier actions. */
export interface AnsweredRequest {
  /** Ref of an earlier reply, to whose request this one adds: its first `keep` messages, then `messages`. */
  readonly base?: string
  readonly keep?: number
  readonly messages: readonly ComposedMessage[]
  readonly cache: readonly {
    readonly path: readonly (string | number)[]
    readonly value: Readonly<Record<string, string>>
  }[]
  readonly betas: readonly string[]
}

/** A message of a request: the blocks of actions, or parts of actions. `string` is true if its content is a string. */
export type ComposedMessage =
  | { readonly items: readonly string[]; readonly string?: true }
  | {
      readonly role: Role
      readonly content: readonly (readonly [ref: string, block: number] | ComposedText)[]
      readonly fields?: { readonly output_config: { readonly effort: string } }
      readonly string?: true
    }

/** A text made of slices of the text blocks of actions, and of what is between them. */
export interface ComposedText {
  readonly text: readonly (string | readonly [ref: string, block: number, start: number, end: number])[]
}

/**
 * A slice of the effective history, given by the refs of its first and last action. An action that is hidden stands for the marker that
 * hides it.
 */
export interface RefCovers {
  readonly first: string
  readonly last: string
}

interface Condensation {
  readonly summary: readonly Message[]
  readonly method: EventData['Condensed']['method']
  readonly origin?: Origin
}

/** A report on the entries of a file. */
export interface ImportReport {
  /** Number of imported entries, per kind. */
  readonly mapped: readonly Tally[]
  /** Number of entries and fields left out, per kind, with the reason. */
  readonly leftOut: readonly (Tally & { readonly reason: string })[]
  /** Bad lines in file order; empty unless bad lines were skipped. */
  readonly badLines: readonly BadLineNote[]
  readonly notes: readonly string[]
}

export interface Tally {
  readonly kind: string
  readonly count: number
}

/** A line that could not be read and was skipped. `line` is 1-based. */
export interface BadLineNote {
  readonly line: number
  readonly problem: string
}
