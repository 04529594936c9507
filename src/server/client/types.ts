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
import type { previewShape } from '../shapes/written.ts'
import type { Cost } from '../../investigate/index.ts'
import type { InvestigatingClient } from './investigating.ts'
import type { AskedMessage, ClaimedMessage, OutcomeMessage, ReleasedMessage } from '../turn-messages.ts'

/** Which part of a stream to read. */
export interface StreamOptions {
  /** Events after this position; -1: all. Default: what comes from now on. */
  readonly after?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** How a turn is asked for. */
export interface AskOptions extends AnswerTerms {
  /** Refuse (`StaleContext`) unless this is still the last position. */
  readonly after?: number | undefined
  /** The turn is asked for once under it. Default: a new UUID. */
  readonly commandId?: string | undefined
  /** Ends the stream, not the turn: that is `cancel`. */
  readonly signal?: AbortSignal | undefined
}

/** What comes of a turn that workers were asked for, tagged on `type`: `asked` first, `outcome` last. */
export type TurnMessage =
  | ({ readonly type: 'asked' } & AskedMessage)
  | ({ readonly type: 'claimed' } & ClaimedMessage)
  | ({ readonly type: 'released' } & ReleasedMessage)
  | Exclude<TurnEvent, DoneEvent | ReplyRecordedEvent>
  | { readonly type: 'event'; readonly event: ConversationEvent }
  | ({ readonly type: 'outcome' } & OutcomeMessage)

/** What a command would write: the answer of a dry run. */
export interface DryRun extends z.output<typeof previewShape> {}

/** How two full histories differ: what came, what left, and what became something else. */
export interface FullDiff extends z.output<typeof fullDiffShape> {}
/** How two requests differ. */
export interface RequestDiff extends z.output<typeof requestDiffShape> {}

/** Compares two positions: by default what the model sees there. */
export interface DiffReader {
  (options: DiffOptions & { readonly of?: 'effective' | undefined }): Promise<Diff>
  (options: DiffOptions & { readonly of: 'full' }): Promise<FullDiff>
  (options: DiffOptions & { readonly of: 'request' }): Promise<RequestDiff>
}

/** What a search finds: a place, or, without a position, a conversation by its title. */
export type SearchHit = MessageHit | TitleHit

/** How to search. */
export interface FindOptions {
  /** How many hits to ask for at once, 1 to 1,000: all are given; of titles, so many at most. Default 20. */
  readonly limit?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** A field of an event that need not come along. */
export type EventField = Exclude<keyof ConversationEvent, 'position'>
/** Which events to read, and what of them: `from` one position on, that one included, `to` another; backward, down to it. */
export interface EventsQuery<F extends EventField = EventField> extends EventsOptions {
  /** `backward`: the newest first, from the last one if no `from` is given; nothing is followed then. Default `forward`. */
  readonly direction?: 'forward' | 'backward' | undefined
  /** Only these besides the position. Default: all. */
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

/** Which steps to give. */
export interface StepsQuery {
  readonly state?: StepState | undefined
  /** Only conversations whose id begins with this. Default: all. */
  readonly beginning?: string | undefined
}
/** Who works on what. */
export type Workers = Pick<Roster, 'workers' | 'claims'>

/** Methods that are the same over HTTP. */
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
 * A conversation of a server. Methods are those of the library; who acts is whom the token belongs to. Errors: those of the library,
 * `StoreUnavailable` if the server cannot be reached, and what only a request is refused for (`Unauthorized`, `Forbidden` …).
 */
export interface ConversationClient extends Pick<Conversation, Same>, InvestigatingClient {
  readonly full: (options?: FullOptions) => Promise<readonly Entry[]>
  readonly events: EventsReader
  readonly fork: (
    id: string,
    options?: PositionOption & { readonly commandId?: string | undefined },
  ) => Promise<ConversationClient>
  /** What a command would write, and how many items and tokens the model would see before and after. Rejects as the command. */
  readonly preview: (...args: Parameters<Conversation['preview']>) => Promise<DryRun>
  /** Ends the turn that is being given, in whichever process. Errors: those of the library. */
  readonly cancel: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Lets a call run that waits. Errors: `AlreadyDecided`, `NotWaiting`. */
  readonly approve: (call: string, options?: ApprovalInput) => Promise<void>
  /** The call is not run, and the model is told why. Errors as for `approve`. */
  readonly deny: (call: string, options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Withdraws an approval: the call waits again. Errors: `NotWithdrawn`, once the tool has started. */
  readonly withdraw: (call: string, options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Has a parked step tried again. Errors: `ConversationNotFound`. */
  readonly unpark: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Has workers begin nothing more, until `resume`. Errors: `ConversationNotFound`. */
  readonly pause: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Errors: `ConversationNotFound`. */
  readonly resume: (options?: { readonly reason?: string | undefined }) => Promise<void>
  /** Asks workers to answer what is there. Errors: `ConversationNotFound`. */
  readonly request: (options?: AnswerTerms) => Promise<void>
  /** New events as they are recorded, until the signal aborts. Continues by itself after a broken connection. Throws `ConversationNotFound`. */
  readonly follow: (options?: StreamOptions) => AsyncIterable<ConversationEvent>
  /**
   * Asks the workers for a turn and gives what comes of it, to the outcome. Without messages, what is there is to be answered. Continues by
   * itself after a broken connection; to leave the loop cancels nothing. Throws `StaleContext`, `ConversationNotFound`.
   */
  readonly turn: (
    message?: MessageInput | readonly MessageInput[],
    options?: AskOptions,
  ) => AsyncIterable<TurnMessage>
  /** How two positions differ in what the model sees; with `of`, in the full history or the request. Errors: as in the library. */
  readonly diff: DiffReader
  /** What markers hide at all levels, at most 200 at a time; those that hide nothing are left out. Errors: `OutOfRange`, `ConversationNotFound`. */
  readonly hidden: (markers: readonly number[]) => Promise<readonly HiddenByMarker[]>
  /**
   * Where a text of three characters or more was said, and whether the model sees it, now and then; before that the conversation itself, if
   * its title has it. Throws `InvalidInput`.
   */
  readonly search: (text: string, options?: FindOptions) => AsyncIterable<SearchHit>
}

/** Who approves is whom the token belongs to. */
export interface ApprovalInput {
  readonly note?: string | undefined
  /** What the tool is given in place of the model's input. */
  readonly input?: { readonly [field: string]: unknown } | undefined
}

/** A server of Palimpsest, as a store. */
export interface Client {
  /** Of the server. */
  readonly url: string
  /** The handle of a conversation, whether it exists yet or not. */
  readonly conversation: (id: string) => ConversationClient
  /** All conversations, by default those begun last first. Throws `StoreUnavailable`. */
  readonly conversations: (options?: Omit<ListOptions, 'ids'>) => AsyncIterable<ConversationOverview>
  /**
   * The conversations whose title has a text of three characters or more, at most `limit`, then where it was said in all. Throws
   * `InvalidInput`.
   */
  readonly search: (text: string, options?: FindOptions) => AsyncIterable<SearchHit>
  /** What workers are asked to do, the oldest first. Throws `StoreUnavailable`. */
  readonly steps: (options?: StepsQuery) => AsyncIterable<OpenStepInfo>
  /** The ledger of the store; undefined if none was ever begun. Needs the scope `audit`. Throws `LedgerDamaged`. */
  readonly audit: () => Promise<LedgerStatus | undefined>
  /** What all conversations cost, of 100,000 events at most (`TooLong`). Rejects with `Overloaded`. */
  readonly cost: () => Promise<Cost>
  /** Which workers there are, and what each works on: once, or every so many milliseconds. Throws `StoreUnavailable`. */
  readonly workers: (options?: RosterOptions) => AsyncIterable<Workers>
  /** The events of all conversations, then new ones as they come, until the signal aborts. Continues by itself after a broken connection. */
  readonly follow: (options?: FollowConversations) => AsyncIterable<FollowedEvent>
}
