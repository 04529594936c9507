import type { z } from 'zod'
import type {
  PositionOption,
  Conversation,
  ConversationEvent,
  Diff,
  DiffOptions,
  DoneEvent,
  Entry,
  EraseOptions,
  ErasureReport,
  EventsOptions,
  FollowConversations,
  FollowedEvent,
  FullOptions,
  HiddenByMarker,
  MessageHit,
  LedgerStatus,
  ListOptions,
  MessageInput,
  OpenStepInfo,
  ConversationInfo,
  ReplyRecordedEvent,
  Roster,
  RosterOptions,
  StepState,
  TitleHit,
  TurnEvent,
  Workspace,
} from '../../index.ts'
import type { AnswerTerms } from '../../events/events.ts'
import type { fullDiffShape, requestDiffShape } from '../shapes/diffs.ts'
import type { previewShape } from '../shapes/write-shapes.ts'
import type { Cost } from '../../investigate/index.ts'
import type { InvestigatingClient } from './investigating-client.ts'
import type { AskedMessage, ClaimedMessage, OutcomeMessage, ReleasedMessage } from '../turn-messages.ts'

/** Options for following the events of a conversation. */
export interface StreamOptions {
  /** Position after which events are yielded; -1 yields all events. Default: the last position, so that only new events are yielded. */
  readonly after?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Options for requesting a turn. */
export interface AskOptions extends AnswerTerms {
  /** Expected last position. The request is rejected with `StaleContext` if the conversation has a later event. */
  readonly after?: number | undefined
  /** Command id; the turn is requested only once under the same id. Default: a new random id. */
  readonly commandId?: string | undefined
  /** State of the files, recorded with the message. Rejected without a message. */
  readonly workspace?: Workspace | undefined
  /** Signal that ends the stream, but not the turn: use `cancel` for that. */
  readonly signal?: AbortSignal | undefined
}

/** A message about a turn requested from workers, tagged on `type`: `asked` first, `outcome` last. */
export type TurnMessage =
  | ({ readonly type: 'asked' } & AskedMessage)
  | ({ readonly type: 'claimed' } & ClaimedMessage)
  | ({ readonly type: 'released' } & ReleasedMessage)
  | Exclude<TurnEvent, DoneEvent | ReplyRecordedEvent>
  | { readonly type: 'event'; readonly event: ConversationEvent }
  | ({ readonly type: 'outcome' } & OutcomeMessage)

/** Result of a dry run: the events that a command would write. */
export interface DryRun extends z.output<typeof previewShape> {}

/** Difference between two full histories: added, removed and changed entries. */
export interface FullDiff extends z.output<typeof fullDiffShape> {}
/** Difference between two requests. */
export interface RequestDiff extends z.output<typeof requestDiffShape> {}

/** Compares two positions: by default the effective histories, or with `of` the full histories or the requests. */
export interface DiffReader {
  (options: DiffOptions & { readonly of?: 'effective' | undefined }): Promise<Diff>
  (options: DiffOptions & { readonly of: 'full' }): Promise<FullDiff>
  (options: DiffOptions & { readonly of: 'request' }): Promise<RequestDiff>
}

/** A search hit: a position in a conversation or, without a position, a conversation whose title matches. */
export type SearchHit = MessageHit | TitleHit

/** Options of a search. */
export interface FindOptions {
  /** Number of hits per request, 1 to 1,000. All matching messages are returned, but at most this many titles. Default 20. */
  readonly limit?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Name of an optional field of an event. */
export type EventField = Exclude<keyof ConversationEvent, 'position'>
/** A selection of events and their fields. Both `from` and `to` are included. When reading backward, `to` is the lower end. */
export interface EventsQuery<F extends EventField = EventField> extends EventsOptions {
  /**
   * Order of the events. With `backward`, the newest event comes first, reading starts at the last event if `from` is missing, and new
   * events are not followed. Default `forward`.
   */
  readonly direction?: 'forward' | 'backward' | undefined
  /** Fields to return besides the position. Default: all. */
  readonly fields?: readonly F[] | undefined
}
/** Reads events page by page. Throws `ConversationNotFound`. */
export interface EventsReader {
  (options?: EventsQuery & { readonly fields?: undefined }): AsyncIterable<ConversationEvent>
  <F extends EventField>(
    options: EventsQuery<F> & { readonly fields: readonly F[] },
  ): AsyncIterable<Pick<ConversationEvent, 'position' | F>>
  (options: EventsQuery): AsyncIterable<Pick<ConversationEvent, 'position'> & Partial<ConversationEvent>>
}

/** A selection of workers' steps. */
export interface StepsQuery {
  readonly state?: StepState | undefined
  /** Prefix of conversation ids. Default: all conversations. */
  readonly beginning?: string | undefined
}
/** Workers and their claims. */
export type Workers = Pick<Roster, 'workers' | 'claims'>

/** Names of the methods whose signatures are the same over HTTP. */
type Same =
  | 'id'
  | 'append'
  | 'configure'
  | 'condense'
  | 'truncate'
  | 'restore'
  | 'rewind'
  | 'undo'
  | 'execute'
  | 'exists'
  | 'position'
  | 'effective'
  | 'render'
  | 'notes'
  | 'links'
  | 'note'
  | 'link'
  | 'say'
  | 'waiting'
  | 'calls'
  | 'sent'
  | 'legalHold'

/**
 * A conversation on a server, with the methods of the library. The actor is the owner of the token. Methods fail with the library's
 * errors, with `StoreUnavailable` if the server cannot be reached, and with the errors of requests (`Unauthorized`, `Forbidden` …).
 */
export interface ConversationClient extends Pick<Conversation, Same>, InvestigatingClient {
  readonly full: (options?: FullOptions) => Promise<readonly Entry[]>
  readonly events: EventsReader
  readonly fork: (
    id: string,
    options?: PositionOption & { readonly commandId?: string | undefined },
  ) => Promise<ConversationClient>
  /**
   * Returns the events that a command would write, and the number of items and tokens that the model would see before and after.
   * Rejects as the command does.
   */
  readonly preview: (...args: Parameters<Conversation['preview']>) => Promise<DryRun>
  /** Cancels the current turn, in whichever process it runs. Errors: the same as in the library. */
  readonly cancel: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Allows a waiting call to run. Errors: `AlreadyDecided`, `NotWaiting`. */
  readonly approve: (call: string, options?: ApprovalInput) => Promise<void>
  /** Denies a waiting call: the tool is not run, and the model is given the reason. Errors as for `approve`. */
  readonly deny: (call: string, options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Withdraws an approval: the call waits again. Errors: `NotWithdrawn` if the tool has started. */
  readonly withdraw: (call: string, options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Retries a step that is parked or waits after a failure. Errors: `ConversationNotFound`, `NotParked`. */
  readonly retry: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Pauses the conversation: workers start no new step until `resume`. Errors: `ConversationNotFound`. */
  readonly pause: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Resumes a paused conversation. Errors: `ConversationNotFound`. */
  readonly resume: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Erases content for good. Needs the scope `erase`. Errors: the same as in the library, and `TooLong`, `Overloaded`. */
  readonly erase: (options?: Omit<EraseOptions, 'by' | 'withSubagents'>) => Promise<ErasureReport>
  /** Puts the conversation under a legal hold: until `release`, `erase` refuses. Needs the scope `erase`. Errors: `ConversationNotFound`. */
  readonly hold: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Ends the legal hold on the conversation. Needs the scope `erase`. Errors: `ConversationNotFound`. */
  readonly release: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Asks workers to answer the conversation without a new message. Errors: `ConversationNotFound`. */
  readonly request: (options?: AnswerTerms) => Promise<void>
  /**
   * Yields new events as they are recorded, until the signal aborts. Resumes by itself after a broken connection. Throws
   * `ConversationNotFound`.
   */
  readonly follow: (options?: StreamOptions) => AsyncIterable<ConversationEvent>
  /**
   * Requests a turn from workers and yields its messages, ending with the outcome. Without a message, the existing history is answered.
   * Resumes by itself after a broken connection; leaving the loop does not cancel the turn. Throws `StaleContext`,
   * `ConversationNotFound`.
   */
  readonly turn: (
    message?: MessageInput | readonly MessageInput[],
    options?: AskOptions,
  ) => AsyncIterable<TurnMessage>
  /**
   * Compares the effective histories at two positions or, with `of`, the full histories or the requests. Errors: the same as in the
   * library.
   */
  readonly diff: DiffReader
  /**
   * Returns everything that the given markers hide, at all levels, for at most 200 markers. Markers that hide nothing are omitted.
   * Errors: `OutOfRange`, `ConversationNotFound`.
   */
  readonly hidden: (markers: readonly number[]) => Promise<readonly HiddenByMarker[]>
  /**
   * Finds the messages that contain a text of three or more characters. Each hit tells whether the model sees the message now and saw
   * it for the next reply. If the title of the conversation matches, that hit comes first. Throws `InvalidInput`.
   */
  readonly search: (text: string, options?: FindOptions) => AsyncIterable<SearchHit>
}

/** Options of an approval. The actor is the owner of the token. */
export interface ApprovalInput {
  readonly note?: string | undefined
  /** Input for the tool that replaces the model's input. */
  readonly input?: { readonly [field: string]: unknown } | undefined
}

/** A Palimpsest server, with the methods of a store. */
export interface Client {
  /** URL of the server. */
  readonly url: string
  /** Returns the handle of a conversation, which need not exist yet. */
  readonly conversation: (id: string) => ConversationClient
  /** Yields all conversations, by default newest first. Throws `StoreUnavailable`. */
  readonly conversations: (options?: Omit<ListOptions, 'ids'>) => AsyncIterable<ConversationInfo>
  /**
   * Finds at most `limit` conversations whose title contains a text of three or more characters, then the messages that contain the
   * text, in all conversations. Throws `InvalidInput`.
   */
  readonly search: (text: string, options?: FindOptions) => AsyncIterable<SearchHit>
  /** Yields the open steps of workers, oldest first. Throws `StoreUnavailable`. */
  readonly steps: (options?: StepsQuery) => AsyncIterable<OpenStepInfo>
  /** Returns the status of the store's ledger, or undefined if the store never had one. Needs the scope `audit`. Throws `LedgerDamaged`. */
  readonly audit: () => Promise<LedgerStatus | undefined>
  /** Returns the cost of all conversations. Rejects with `TooLong` if they have more than 100,000 events in total, or with `Overloaded`. */
  readonly cost: () => Promise<Cost>
  /** Yields the workers and their claims, once or at an interval in milliseconds. Throws `StoreUnavailable`. */
  readonly workers: (options?: RosterOptions) => AsyncIterable<Workers>
  /**
   * Yields the events of all conversations, then new ones as they are recorded, until the signal aborts. Resumes by itself after a
   * broken connection.
   */
  readonly follow: (options?: FollowConversations) => AsyncIterable<FollowedEvent>
}
