import type { BucketColumns, OutlineColumns } from '../projections/columns.ts'
import type { EntryState } from '../projections/full.ts'
import type { HiddenByMarker, MessageHits } from '../projections/lookups.ts'
import type { MethodResult, ResultStyle } from '../result/answer.ts'
import type { ReadError } from '../store/errors.ts'
import type { Checkpoint } from '../store/port.ts'
import type { BranchSummary } from './branches.ts'
import type { CallsPage } from './calls.ts'
import type { ConversationFilter, ListOrder, ThreadList } from './list.ts'

// What can be asked of a catalogue, and what it answers.

/** How far the answer's conversation is indexed. */
export interface UpTo {
  /** The conversation's last position. */
  readonly last: number
  /** The last position that the answer knows of: less than `last` while the index catches up, or if it cannot. */
  readonly indexed: number
  /** What keeps the index from continuing, if something does. */
  readonly problem?: string
}

export interface OutlineOptions {
  /** First position, that one included. Default 0. */
  readonly from?: number | undefined
  /** Last position, that one included. Default: the last one. */
  readonly to?: number | undefined
}
export interface OverviewOptions {
  /** The most buckets. Default 1,200. */
  readonly buckets?: number | undefined
}
/** An outline, and where the next one begins if it was longer than one answer. */
export interface OutlinePage extends OutlineColumns, UpTo {
  readonly next?: number
}
export interface BucketsPage extends BucketColumns, UpTo {}
export interface BranchesPage extends BranchSummary, UpTo {}
/**
 * What is looked up, in an index beside the store: it is kept up to date from the store's events, and built again if it is lost. An
 * answer waits until everything that was there is indexed, at most two seconds; then it says how far it knows.
 */
export interface Catalogue<W extends ResultStyle> {
  /**
   * The events of a conversation without their content, at most 100,000 at a time. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { kinds, tokens } = await store.catalogue.outline('task-42')
   */
  readonly outline: (id: string, options?: OutlineOptions) => MethodResult<W, ReadError, OutlinePage>
  /**
   * A conversation of any length in as many parts as a picture of it has room for. Errors: `ConversationNotFound`.
   *
   * @example
   * const { first, min, max } = await store.catalogue.overview('task-42', { buckets: 800 })
   */
  readonly overview: (id: string, options?: OverviewOptions) => MethodResult<W, ReadError, BucketsPage>
  /**
   * What a marker hides at all levels; undefined if there is no marker at this position that hides anything, or it is not indexed yet.
   * Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const hidden = await store.catalogue.hidden('task-42', 5)
   */
  readonly hidden: (id: string, marker: number) => MethodResult<W, ReadError, HiddenByMarker | undefined>
  /**
   * What each of several markers hides at all levels, in the order given; those that hide nothing, or are not indexed yet, are left out.
   * Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const hidden = await store.catalogue.hiddenBy('task-42', [2, 5])
   */
  readonly hiddenBy: (
    id: string,
    markers: readonly number[],
  ) => MethodResult<W, ReadError, readonly HiddenByMarker[]>
  /**
   * What rewinds have taken off the path of a conversation by a position (default: the last one), and its forks up to there: the newest 100 of
   * each. Waits a quarter of a second for the index at most, as it comes along with other answers. Errors: `OutOfRange`,
   * `ConversationNotFound`.
   *
   * @example
   * const { abandoned, forks } = await store.catalogue.branches('task-42')
   */
  readonly branches: (
    id: string,
    options?: { readonly at?: number | undefined },
  ) => MethodResult<W, ReadError, BranchesPage>
  /**
   * The messages, summaries and system prompts that have a text of 3 to 500 characters, as it is but for upper and lower case: what was
   * said, also in thoughts, tool calls and results, with the names and ids of calls; abandoned branches included. And the conversations
   * whose title has it. An answer takes about a second at the longest; `next` says where to continue. Errors: `InvalidInput`,
   * `ConversationNotFound`.
   *
   * @example
   * const { items } = await store.catalogue.search('src/parser', { conversation: 'task-42' })
   * for (const { position, excerpt, now } of items) console.log(position, excerpt.match, now.state)
   */
  readonly search: (text: string, options?: SearchOptions) => MethodResult<W, ReadError, SearchPage>
  /**
   * The conversations that something is true of, in one of several orders, a page at a time. By activity, the pages have each of them where
   * it was when the first page was asked for, once, whatever is written meanwhile. Errors: `InvalidInput`.
   *
   * @example
   * const { items, total, matching } = await store.catalogue.find({ has: ['condensed'], order: 'tokens' })
   */
  readonly find: (options?: FindFilter) => MethodResult<W, ReadError, FindPage>
  /**
   * The calls of a model in a conversation, a page at a time, in the order of their answers; replies without a receipt have no number.
   * Reads the page, however far it is from the beginning, and what is not indexed yet: for that it waits a quarter of a second at most. Errors: `ConversationNotFound`.
   *
   * @example
   * const { items, next } = await store.catalogue.calls('task-42', { from: 90_000, limit: 10 })
   */
  readonly calls: (id: string, options?: CallsOptions) => MethodResult<W, ReadError, CallsPage>
  /**
   * What became of messages and markers by a position, as the full history there says it, however far they are from it; undefined if the
   * conversation is not indexed through `at` yet. Errors: `InvalidInput`, `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const fates = await store.catalogue.fates('task-42', { at: 6, of: [0, 1] })
   */
  readonly fates: (
    id: string,
    options: FatesOptions,
  ) => MethodResult<W, ReadError, readonly EntryFate[] | undefined>
}

/** What became of the message or marker at a position. */
export interface EntryFate extends EntryState {
  readonly position: number
}

/** Which messages and markers are asked about. */
export interface FatesOptions {
  /** The position to look from. */
  readonly at: number
  /** Their positions: what is no entry of the full history there is left out. */
  readonly of: readonly number[]
}

/** Which calls to list. */
export interface CallsOptions {
  /** Only answers from this position on. Default 0. */
  readonly from?: number | undefined
  /** Only calls with a receipt, from this number on. */
  readonly number?: number | undefined
  /** The most calls of one answer, 1 to 1,000. Default 1,000. */
  readonly limit?: number | undefined
}

/** Where to look. */
export interface SearchOptions {
  /** The conversation to search, with what it inherited. Default: all, each event in the conversation that it was said in. */
  readonly conversation?: string | undefined
  /** The most hits of one answer, 1 to 1,000. Default 20. */
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly cursor?: string | undefined
}
/** What was found. */
export interface SearchPage extends MessageHits {
  /** Whether everything was indexed that was there when it was asked. */
  readonly isComplete: boolean
  /** Of the conversation that was searched. */
  readonly last?: number
  readonly indexed?: number
}

/** Which conversations to list. */
export interface FindFilter extends Omit<ConversationFilter, 'limit' | 'order' | 'cursor'> {
  /** `activity` (default): those first whose last event has the latest time; `begun`: begun last in this store; `tokens`: the most; `id`: by id. */
  readonly order?: ListOrder | undefined
  /** `next` of the page before. */
  readonly cursor?: string | undefined
  /** The most of one answer, 1 to 1,000. Default 50. */
  readonly limit?: number | undefined
}
/**
 * Conversations that were found, with what the index knows of each. Of an answer that is not complete, any may be missing, and there is no
 * `total`: the index continues by itself, so ask again until it is.
 */
export interface FindPage extends ThreadList {
  /** Whether everything was indexed that was there when it was asked. */
  readonly isComplete: boolean
  /** Through which place of the store the answer knows its events, if any: `readAll({ after: indexed })` gives the others. */
  readonly indexed?: Checkpoint
  /** The last place of the store, `indexed` in a complete answer; undefined if the store did not say in time. */
  readonly last?: Checkpoint
  /** What keeps the index from continuing, if something does. */
  readonly problem?: string
}
