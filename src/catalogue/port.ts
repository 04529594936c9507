import type { BucketColumns, OutlineColumns } from '../projections/columns.ts'
import type { EntryState } from '../projections/full.ts'
import type { HiddenByMarker, MessageHits } from '../projections/lookups.ts'
import type { MethodResult, ResultStyle } from '../result/answer.ts'
import type { ReadError } from '../store/errors.ts'
import type { Checkpoint } from '../store/port.ts'
import type { BranchSummary } from './branches.ts'
import type { CallsPage } from './calls.ts'
import type { ConversationFacts } from './list/conversation-facts.ts'
import type { ConversationFilter, ListOrder, RowList } from './list.ts'

// The queries of a catalogue and their results.

/** Last position of the conversation that an answer is about, and the part of it that is indexed. */
export interface UpTo {
  /** Last position of the conversation. */
  readonly last: number
  /** Last position that the answer takes into account: less than `last` if the index has not caught up yet, or has stopped. */
  readonly indexed: number
  /** Reason why indexing has stopped, if it has. */
  readonly problem?: string
}

export interface OutlineOptions {
  /** First position, inclusive. Default 0. */
  readonly from?: number | undefined
  /** Last position, inclusive. Default: the last position of the conversation. */
  readonly to?: number | undefined
}
export interface OverviewOptions {
  /** Maximum number of buckets. Default 1,200. */
  readonly buckets?: number | undefined
}
/** Outline of a conversation. If the conversation is too long for one answer, `next` is the position at which the next page begins. */
export interface OutlinePage extends OutlineColumns, UpTo {
  readonly next?: number
}
/** Facts about a conversation, as far as it is indexed. */
export interface AboutPage extends Partial<ConversationFacts>, UpTo {
  readonly id: string
}
export interface BucketsPage extends BucketColumns, UpTo {}
export interface BranchesPage extends BranchSummary, UpTo {}
/**
 * Queries to an index of the store, which is kept up to date from the store's events and rebuilt if lost. A query waits at most two
 * seconds until every event in the store at the time of the request is indexed; after that, the answer states how far the index
 * reaches.
 */
export interface Catalogue<W extends ResultStyle> {
  /**
   * Returns what the index keeps about a conversation: the same facts as `find`. Waits for the index for at most a quarter of a second;
   * `indexed` says how far the facts reach, and if nothing is indexed, they are absent. Errors: `ConversationNotFound`.
   *
   * @example
   * const { status, tokens, cost } = await store.catalogue.about('task-42')
   */
  readonly about: (id: string) => MethodResult<W, ReadError, AboutPage>
  /**
   * Returns the events of a conversation without their content, at most 100,000 at a time. Errors: `OutOfRange`,
   * `ConversationNotFound`.
   *
   * @example
   * const { kinds, tokens } = await store.catalogue.outline('task-42')
   */
  readonly outline: (id: string, options?: OutlineOptions) => MethodResult<W, ReadError, OutlinePage>
  /**
   * Summarizes a conversation of any length in a limited number of buckets, for example to draw an overview of it. Errors:
   * `ConversationNotFound`.
   *
   * @example
   * const { first, min, max } = await store.catalogue.overview('task-42', { buckets: 800 })
   */
  readonly overview: (id: string, options?: OverviewOptions) => MethodResult<W, ReadError, BucketsPage>
  /**
   * Returns counts of the content hidden by a marker, including content hidden by markers inside it; undefined if no marker at this
   * position hides anything, or if the marker is not indexed yet. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const hidden = await store.catalogue.hidden('task-42', 5)
   */
  readonly hidden: (id: string, marker: number) => MethodResult<W, ReadError, HiddenByMarker | undefined>
  /**
   * Returns counts of the content hidden by each of several markers, including content hidden by markers inside it, in the order given.
   * Omits markers that hide nothing or are not indexed yet. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const hidden = await store.catalogue.hiddenBy('task-42', [2, 5])
   */
  readonly hiddenBy: (
    id: string,
    markers: readonly number[],
  ) => MethodResult<W, ReadError, readonly HiddenByMarker[]>
  /**
   * Returns the ranges of a conversation that rewinds abandoned at or before a position (default: the last one), and the forks made at
   * or before that position: the newest 100 of each. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { abandoned, forks } = await store.catalogue.branches('task-42')
   */
  readonly branches: (
    id: string,
    options?: { readonly at?: number | undefined },
  ) => MethodResult<W, ReadError, BranchesPage>
  /**
   * Finds the messages, summaries and system prompts that contain a text of 3 to 500 characters, ignoring only case. The search
   * includes thoughts, tool calls and results, the names and ids of calls, and abandoned branches. Also finds the conversations whose
   * title contains the text. An answer takes at most about a second; `next` continues the search. Errors: `InvalidInput`,
   * `ConversationNotFound`.
   *
   * @example
   * const { items } = await store.catalogue.search('src/parser', { conversation: 'task-42' })
   * for (const { position, excerpt, now } of items) console.log(position, excerpt.match, now.state)
   */
  readonly search: (text: string, options?: SearchOptions) => MethodResult<W, ReadError, SearchPage>
  /**
   * Finds the conversations that match a filter, in one of several orders, page by page. When ordered by activity, the pages list each
   * conversation once, in the order that applied when the first page was read, regardless of later writes. Errors: `InvalidInput`.
   *
   * @example
   * const { items, total, matching } = await store.catalogue.find({ has: ['condensed'], order: 'tokens' })
   */
  readonly find: (options?: FindFilter) => MethodResult<W, ReadError, FindPage>
  /**
   * Returns the model calls of a conversation, page by page, in the order of their answers; replies without a receipt have no number.
   * Reads only the events of the page and those that are not indexed yet, so a page far from the beginning takes no longer. Waits for
   * the index for at most a quarter of a second. Errors: `ConversationNotFound`.
   *
   * @example
   * const { items, next } = await store.catalogue.calls('task-42', { from: 90_000, limit: 10 })
   */
  readonly calls: (id: string, options?: CallsOptions) => MethodResult<W, ReadError, CallsPage>
  /**
   * Returns the states of messages and markers in the full history at a position, regardless of their distance from it; undefined if
   * the conversation is not yet indexed up to and including `at`. Errors: `InvalidInput`, `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const fates = await store.catalogue.fates('task-42', { at: 6, of: [0, 1] })
   */
  readonly fates: (
    id: string,
    options: FatesOptions,
  ) => MethodResult<W, ReadError, readonly EntryFate[] | undefined>
}

/** State of the message or marker at `position`. */
export interface EntryFate extends EntryState {
  readonly position: number
}

/** Options of `fates`. */
export interface FatesOptions {
  /** Position at which the states are determined. */
  readonly at: number
  /**
   * Positions of the messages and markers to look up. Positions that are not entries of the full history at `at` are omitted from the
   * result.
   */
  readonly of: readonly number[]
}

/** Options of `calls`. */
export interface CallsOptions {
  /** Position of the first answer to include; calls answered earlier are excluded. Default 0. */
  readonly from?: number | undefined
  /** First call number to include; calls without a receipt have no number and are then excluded. */
  readonly number?: number | undefined
  /** Maximum number of calls in one answer, 1 to 1,000. Default 1,000. */
  readonly limit?: number | undefined
}

/** Scope of a search. */
export interface SearchOptions {
  /**
   * Conversation to search, including inherited events. Default: all conversations, with each event reported in the conversation to
   * which it was written.
   */
  readonly conversation?: string | undefined
  /** Maximum number of hits in one answer, 1 to 1,000. Default 20. */
  readonly limit?: number | undefined
  /** Value of `next` from the previous page. */
  readonly cursor?: string | undefined
}
/** Result of a search. */
export interface SearchPage extends MessageHits {
  /** True if everything in the store at the time of the request was indexed. */
  readonly isComplete: boolean
  /**
   * Last position of the searched conversation; `indexed` is its last indexed position. Both are absent if all conversations were
   * searched.
   */
  readonly last?: number
  readonly indexed?: number
}

/** Conditions and order of the conversations to list. */
export interface FindFilter extends Omit<ConversationFilter, 'limit' | 'order' | 'cursor'> {
  /**
   * Order of the list: `activity` (default): latest last event first; `begun`: most recently begun in this store first; `tokens`: most
   * tokens first; `id`: by id.
   */
  readonly order?: ListOrder | undefined
  /** Value of `next` from the previous page. */
  readonly cursor?: string | undefined
  /** Maximum number of conversations in one answer, 1 to 1,000. Default 50. */
  readonly limit?: number | undefined
}
/**
 * Conversations found, with the details that the index has of each. An incomplete answer may lack some conversations and has no
 * `total`. Indexing continues in the background, so repeat the request until the answer is complete.
 */
export interface FindPage extends RowList {
  /** True if everything in the store at the time of the request was indexed. */
  readonly isComplete: boolean
  /** Checkpoint up to which the store's events are indexed, if any are; `readAll({ after: indexed })` returns the remaining events. */
  readonly indexed?: Checkpoint
  /** Last checkpoint of the store, equal to `indexed` in a complete answer; absent if the store did not report it in time. */
  readonly last?: Checkpoint
  /** Reason why indexing has stopped, if it has. */
  readonly problem?: string
}
