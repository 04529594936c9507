import type { z } from 'zod'
import type {
  PositionOption,
  Conversation,
  ConversationEvent,
  Diff,
  DiffOptions,
  DoneEvent,
  Entry,
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
  ConversationOverview,
  ReplyRecordedEvent,
  Roster,
  RosterOptions,
  StepState,
  TitleHit,
  TurnEvent,
} from '../../index.ts'
import type { AnswerTerms } from '../../events/events.ts'
import type { fullDiffShape, requestDiffShape } from '../shapes/diffs.ts'
import type { previewShape } from '../shapes/write-shapes.ts'
import type { Cost } from '../../investigate/index.ts'
import type { InvestigatingClient } from './investigating-client.ts'
import type { AskedMessage, ClaimedMessage, OutcomeMessage, ReleasedMessage } from '../turn-messages.ts'

/** Part of a stream to read. */
export interface StreamOptions {
  /** Only events after this position; -1: all. Default: only new ones. */
  readonly after?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** Options for requesting a turn. */
export interface AskOptions extends AnswerTerms {
  /** Reject with `StaleContext` unless this is still the last position. */
  readonly after?: number | undefined
  /** Command id under which the turn is requested once. Default: a new UUID. */
  readonly commandId?: string | undefined
  /** Ends the stream, but not the turn: use `cancel` for that. */
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

/** Compares two positions, by default in what the model sees there. */
export interface DiffReader {
  (options: DiffOptions & { readonly of?: 'effective' | undefined }): Promise<Diff>
  (options: DiffOptions & { readonly of: 'full' }): Promise<FullDiff>
  (options: DiffOptions & { readonly of: 'request' }): Promise<RequestDiff>
}

/** A search hit: a place in a conversation, or, without a position, a conversation with a matching title. */
export type SearchHit = MessageHit | TitleHit

/** Search options. */
export interface FindOptions {
  /** Number of hits per request, 1 to 1,000: all are returned, but at most this many titles. Default 20. */
  readonly limit?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** An optional field of an event. */
export type EventField = Exclude<keyof ConversationEvent, 'position'>
/** A selection of events and their fields: from position `from` through `to`; `to` is the lower end if backward. */
export interface EventsQuery<F extends EventField = EventField> extends EventsOptions {
  /** `backward`: newest first, from the last event if `from` is missing, without following. Default `forward`. */
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

/** A selection of steps. */
export interface StepsQuery {
  readonly state?: StepState | undefined
  /** Prefix of conversation ids. Default: all conversations. */
  readonly beginning?: string | undefined
}
/** Workers and their claims. */
export type Workers = Pick<Roster, 'workers' | 'claims'>

/** Names of the methods that are the same over HTTP. */
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

/**
 * A conversation on a server. The methods are the library's; the actor is the owner of the token. Errors: the library's,
 * `StoreUnavailable` if the server cannot be reached, and the errors of requests (`Unauthorized`, `Forbidden` …).
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
  /** Ends the current turn, in any process. Errors: those of the library. */
  readonly cancel: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Allows a waiting call to run. Errors: `AlreadyDecided`, `NotWaiting`. */
  readonly approve: (call: string, options?: ApprovalInput) => Promise<void>
  /** Denies a waiting call: it is not run, and the model is given the reason. Errors as for `approve`. */
  readonly deny: (call: string, options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Withdraws an approval: the call waits again. Errors: `NotWithdrawn` if the tool has started. */
  readonly withdraw: (call: string, options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Retries a parked step. Errors: `ConversationNotFound`. */
  readonly unpark: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Pauses the conversation: workers start no new step until `resume`. Errors: `ConversationNotFound`. */
  readonly pause: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Resumes a paused conversation. Errors: `ConversationNotFound`. */
  readonly resume: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Asks workers to answer the conversation as it is. Errors: `ConversationNotFound`. */
  readonly request: (options?: AnswerTerms) => Promise<void>
  /**
   * Yields new events as they are recorded, until the signal aborts. Resumes by itself after a broken connection. Throws
   * `ConversationNotFound`.
   */
  readonly follow: (options?: StreamOptions) => AsyncIterable<ConversationEvent>
  /**
   * Requests a turn from workers and yields its messages through the outcome. Without a message, the conversation is answered as it is.
   * Resumes by itself after a broken connection; leaving the loop does not cancel the turn. Throws `StaleContext`,
   * `ConversationNotFound`.
   */
  readonly turn: (
    message?: MessageInput | readonly MessageInput[],
    options?: AskOptions,
  ) => AsyncIterable<TurnMessage>
  /** Compares two positions in what the model sees, or, with `of`, in the full history or the request. Errors: as in the library. */
  readonly diff: DiffReader
  /**
   * Returns everything hidden by these markers, at all levels, for at most 200 markers; markers that hide nothing are left out. Errors:
   * `OutOfRange`, `ConversationNotFound`.
   */
  readonly hidden: (markers: readonly number[]) => Promise<readonly HiddenByMarker[]>
  /**
   * Finds the messages with a text of three or more characters, and whether the model sees them now and saw them for the next reply;
   * the conversation itself comes first if its title matches. Throws `InvalidInput`.
   */
  readonly search: (text: string, options?: FindOptions) => AsyncIterable<SearchHit>
}

/** Options of an approval. The actor is the owner of the token. */
export interface ApprovalInput {
  readonly note?: string | undefined
  /** Input for the tool in place of the model's. */
  readonly input?: { readonly [field: string]: unknown } | undefined
}

/** A Palimpsest server, with the methods of a store. */
export interface Client {
  /** URL of the server. */
  readonly url: string
  /** Returns the handle of a conversation, which need not exist yet. */
  readonly conversation: (id: string) => ConversationClient
  /** Yields all conversations, by default newest first. Throws `StoreUnavailable`. */
  readonly conversations: (options?: Omit<ListOptions, 'ids'>) => AsyncIterable<ConversationOverview>
  /**
   * Finds conversations whose title contains a text of three or more characters, at most `limit`, then the messages with the text in
   * all conversations. Throws `InvalidInput`.
   */
  readonly search: (text: string, options?: FindOptions) => AsyncIterable<SearchHit>
  /** Yields the open steps of workers, oldest first. Throws `StoreUnavailable`. */
  readonly steps: (options?: StepsQuery) => AsyncIterable<OpenStepInfo>
  /** Returns the status of the store's ledger; undefined if none was ever begun. Needs the scope `audit`. Throws `LedgerDamaged`. */
  readonly audit: () => Promise<LedgerStatus | undefined>
  /** Returns the cost of all conversations, up to 100,000 events in total (`TooLong`). Rejects with `Overloaded`. */
  readonly cost: () => Promise<Cost>
  /** Yields the workers and their claims, once or at an interval in milliseconds. Throws `StoreUnavailable`. */
  readonly workers: (options?: RosterOptions) => AsyncIterable<Workers>
  /**
   * Yields the events of all conversations, then new ones as they come, until the signal aborts. Resumes by itself after a broken
   * connection.
   */
  readonly follow: (options?: FollowConversations) => AsyncIterable<FollowedEvent>
}
