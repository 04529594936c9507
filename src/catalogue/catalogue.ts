import type { DatabaseSync } from 'node:sqlite'
import { outOfRange } from '../commands/rejections.ts'
import { invalidInput } from '../events/errors.ts'
import { openAt, outsideOf } from '../history/log.ts'
import type { BucketColumns, OutlineColumns } from '../projections/columns.ts'
import type { Fate } from '../projections/full.ts'
import type { HiddenByMarker, Hits } from '../projections/lookups.ts'
import type { Answer, Way } from '../result/answer.ts'
import { ok, type Steps, task } from '../result/steps.ts'
import type { ReadError } from '../store/errors.ts'
import { checkedOptions, isListOf, kinds, oneOf } from '../store/options.ts'
import type { EventStore } from '../store/port.ts'
import { type Before, type CallsPage, callsBefore, callsPage } from './calls.ts'
import { type Branches, branchesOf } from './branches.ts'
import { feedOf } from './feed.ts'
import type { Indexed } from './index-file.ts'
import { type Filter, listed, type ListOrder, type ThreadList } from './list.ts'
import { bucketsOf, outlineOf, tallyAt } from './outline.ts'
import { searched, unsearchable } from './search.ts'
import type { ThreadRow } from './thread.ts'
import { traitNames } from './traits.ts'
import { fateIn, viewIn } from './views.ts'

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
export interface BranchesPage extends Branches, UpTo {}
/**
 * What is looked up, in an index beside the store: it is kept up to date from the store's events, and built again if it is lost. An
 * answer waits until everything that was there is indexed, at most two seconds; then it says how far it knows.
 */
export interface Catalogue<W extends Way> {
  /**
   * The events of a conversation without their content, at most 100,000 at a time. Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const { kinds, tokens } = await store.catalogue.outline('task-42')
   */
  readonly outline: (id: string, options?: OutlineOptions) => Answer<W, ReadError, OutlinePage>
  /**
   * A conversation of any length in as many parts as a picture of it has room for. Errors: `ConversationNotFound`.
   *
   * @example
   * const { first, min, max } = await store.catalogue.overview('task-42', { buckets: 800 })
   */
  readonly overview: (id: string, options?: OverviewOptions) => Answer<W, ReadError, BucketsPage>
  /**
   * What a marker hides at all levels; undefined if there is no marker at this position that hides anything, or it is not indexed yet.
   * Errors: `OutOfRange`, `ConversationNotFound`.
   *
   * @example
   * const hidden = await store.catalogue.hidden('task-42', 5)
   */
  readonly hidden: (id: string, marker: number) => Answer<W, ReadError, HiddenByMarker | undefined>
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
  ) => Answer<W, ReadError, readonly HiddenByMarker[]>
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
  ) => Answer<W, ReadError, BranchesPage>
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
  readonly search: (text: string, options?: SearchOptions) => Answer<W, ReadError, SearchPage>
  /**
   * The conversations that something is true of, in one of several orders, a page at a time. Errors: `InvalidInput`.
   *
   * @example
   * const { items, total, matching } = await store.catalogue.find({ has: ['condensed'], order: 'updated' })
   */
  readonly find: (options?: FindFilter) => Answer<W, ReadError, FindPage>
  /**
   * The calls of a model in a conversation, a page at a time, in the order of their answers; replies without a receipt have no number.
   * Reads the page, however far it is from the beginning, and what is not indexed yet: for that it waits a quarter of a second at most. Errors: `ConversationNotFound`.
   *
   * @example
   * const { items, next } = await store.catalogue.calls('task-42', { from: 90_000, limit: 10 })
   */
  readonly calls: (id: string, options?: CallsOptions) => Answer<W, ReadError, CallsPage>
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
  ) => Answer<W, ReadError, readonly EntryFate[] | undefined>
}

/** What became of the message or marker at a position. */
export interface EntryFate extends Fate {
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
export interface SearchPage extends Hits {
  /** Whether everything was indexed that was there when it was asked. */
  readonly isComplete: boolean
  /** Of the conversation that was searched. */
  readonly last?: number
  readonly indexed?: number
}

/** Which conversations to list. */
export interface FindFilter extends Omit<Filter, 'limit' | 'order' | 'cursor'> {
  /** `newest` (default): begun last; `updated`: written to last; `tokens`: the most; `id`: by id. */
  readonly order?: ListOrder | undefined
  /** `next` of the page before. */
  readonly cursor?: string | undefined
  /** The most of one answer, 1 to 1,000. Default 50. */
  readonly limit?: number | undefined
}
/** Conversations that were found, with what the index knows of each. */
export interface FindPage extends ThreadList {
  /** Whether everything was indexed that was there when it was asked. */
  readonly isComplete: boolean
  readonly problem?: string
}

/** The most events of an outline. */
const longest = 100_000
/** How long an answer waits for the index, in milliseconds. */
const patience = 2_000
const littlePatience = 250

export interface OwnCatalogue extends Catalogue<'task'> {
  readonly close: () => Promise<void>
}

/** @param place where its file is; undefined: in memory */
export const catalogueOf = (store: EventStore, place: string | undefined): OwnCatalogue => {
  const feed = feedOf(store, place)

  /** How far a conversation is indexed, and whether it is to its end, as is the rest of the store. */
  async function* caughtUp(
    id: string,
    most: number,
  ): Steps<ReadError, { readonly known: UpTo; readonly isComplete: boolean }> {
    const { last } = yield* ok(openAt(store, id))
    const { problem, isComplete } = yield* feed.catchUp(most)
    const row = feed.read(({ rows }) => rows.byId(id))
    const why = row?.problem ?? problem
    const indexed = Math.min(last, row?.last ?? -1)
    const known = { last, indexed, ...(indexed < last && why !== undefined && { problem: why }) }
    return { known, isComplete: isComplete && indexed === last }
  }
  async function* upTo(id: string): Steps<ReadError, UpTo> {
    return (yield* caughtUp(id, patience)).known
  }

  /** Reads a conversation as far as is known of it; undefined if that is nothing. */
  const read = <A>(
    id: string,
    { indexed: last }: UpTo,
    reading: (row: ThreadRow, indexed: Indexed, db: DatabaseSync) => A,
  ): A | undefined =>
    feed.read((indexed, { db }) => {
      const row = indexed.rows.byId(id)
      return row && last >= 0 ? reading({ ...row, last }, indexed, db) : undefined
    })

  async function* outline(id: string, options?: OutlineOptions): Steps<ReadError, OutlinePage> {
    const { from = 0, to = Infinity } = yield* ok(
      checkedOptions(options, { from: kinds.first, to: kinds.last }),
    )
    const known = yield* upTo(id)
    if (from > known.last) return yield outOfRange(id, from, known.last)
    const wanted = Math.min(to, known.last)
    const end = Math.min(wanted, known.indexed, from + longest - 1)
    const columns = read(id, known, (row, { rows }, db) => outlineOf(db, rows, row, from, end))
    const isMore = end < Math.min(wanted, known.indexed)
    return { ...(columns ?? { from, to: from - 1, ...nothing }), ...known, ...(isMore && { next: end + 1 }) }
  }

  async function* overview(id: string, options?: OverviewOptions): Steps<ReadError, BucketsPage> {
    const { buckets = 1_200 } = yield* ok(checkedOptions(options, { buckets: kinds.several }))
    const known = yield* upTo(id)
    return { ...(read(id, known, (row, { rows }) => bucketsOf(rows, row, buckets)) ?? noBuckets), ...known }
  }

  async function* hiddenBy(
    id: string,
    markers: readonly number[],
  ): Steps<ReadError, readonly HiddenByMarker[]> {
    if (!Array.isArray(markers)) return yield invalidInput('markers', 'is a list of positions')
    const known = yield* upTo(id)
    const isIn = (marker: unknown): boolean =>
      Number.isInteger(marker) && Number(marker) >= 0 && Number(marker) <= known.last
    for (const marker of markers) if (!isIn(marker)) return yield outOfRange(id, marker, known.last)
    return markers.flatMap((marker) => {
      const tally = read(id, known, (row, { rows }, db) => tallyAt(db, rows, row, marker))
      if (!tally) return []
      const tools = Object.entries(tally.tools).toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
      return [{ ...tally, marker, tools }]
    })
  }

  async function* hidden(id: string, marker: number): Steps<ReadError, HiddenByMarker | undefined> {
    return (yield* hiddenBy(id, [marker]))[0]
  }

  async function* branches(
    id: string,
    options?: Parameters<Catalogue<'task'>['branches']>[1],
  ): Steps<ReadError, BranchesPage> {
    const { at } = yield* ok(checkedOptions(options, { at: kinds.position }))
    const { known: all, isComplete } = yield* caughtUp(id, littlePatience)
    const outside = outsideOf(id, at, all.last)
    if (outside) return yield outside
    const known = { ...all, indexed: Math.min(all.indexed, at ?? Infinity) }
    const found = read(id, known, (row, { rows }, db) => branchesOf(db, rows, row)) ?? noBranches
    return { ...found, isAll: found.isAll && isComplete, ...known }
  }

  async function* search(text: string, options?: SearchOptions): Steps<ReadError, SearchPage> {
    const unfit = unsearchable(text)
    if (unfit) return yield unfit
    const { conversation: id, limit = 20, cursor } = yield* ok(checkedOptions(options, searchFields))
    if (id === undefined) {
      const progress = yield* feed.catchUp(patience)
      return {
        ...progress,
        ...(yield* searched(store, feed, { text, conversation: undefined, limit, cursor })),
      }
    }
    const known = yield* upTo(id)
    const conversation = read(id, known, (row) => row)
    const isComplete = known.indexed === known.last
    if (!conversation) return { titles: [], items: [], isComplete, ...known }
    return { isComplete, ...known, ...(yield* searched(store, feed, { text, conversation, limit, cursor })) }
  }

  async function* find(options?: FindFilter): Steps<ReadError, FindPage> {
    const { order = 'newest', limit = 50, cursor, ...rest } = yield* ok(checkedOptions(options, findFields))
    const progress = yield* feed.catchUp(patience)
    return { ...progress, ...(yield* listed(store, feed, { ...rest, order, limit, cursor })) }
  }

  /** What comes before the calls that are asked for. What is not indexed yet is read: that takes no longer than to wait for it. */
  async function* passed(id: string, asked: CallsOptions): Steps<ReadError, Before | undefined> {
    const { known } = yield* caughtUp(id, littlePatience)
    return read(id, known, (row, { rows }, db) => callsBefore(db, rows, row, asked))
  }

  async function* calls(id: string, options?: CallsOptions): Steps<ReadError, CallsPage> {
    const { limit = 1_000, ...asked } = yield* ok(checkedOptions(options, callsFields))
    // The beginning is known without the index.
    const isFirst = !asked.from && asked.number === undefined
    const before = isFirst ? undefined : yield* passed(id, asked)
    return yield* callsPage(yield* ok(openAt(store, id)), { ...asked, before, limit })
  }

  async function* fates(
    id: string,
    options: FatesOptions,
  ): Steps<ReadError, readonly EntryFate[] | undefined> {
    const { at, of = [] } = yield* ok(checkedOptions(options, fatesFields))
    if (at === undefined) return yield invalidInput('at', 'name the position to look from')
    const known = yield* upTo(id)
    if (at > known.last) return yield outOfRange(id, at, known.last)
    if (known.indexed < at) return undefined
    return read(id, { ...known, indexed: at }, (row, { rows }, db) => {
      const view = viewIn(db, rows, row)
      return of.flatMap((position): readonly EntryFate[] => {
        const fate = position >= 0 && position <= at ? fateIn(view, position, at) : undefined
        return fate ? [{ position, ...fate }] : []
      })
    })
  }

  return {
    find: (options) => task(() => find(options)),
    search: (text, options) => task(() => search(text, options)),
    outline: (id, options) => task(() => outline(id, options)),
    overview: (id, options) => task(() => overview(id, options)),
    hidden: (id, marker) => task(() => hidden(id, marker)),
    hiddenBy: (id, markers) => task(() => hiddenBy(id, markers)),
    calls: (id, options) => task(() => calls(id, options)),
    branches: (id, options) => task(() => branches(id, options)),
    fates: (id, options) => task(() => fates(id, options)),
    close: feed.close,
  }
}

const limit = {
  is: (value: unknown) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000,
  needed: 'is 1 to 1,000',
}
const fatesFields = {
  at: kinds.first,
  of: {
    is: (value: unknown) => isListOf(value, Number.isInteger),
    needed: 'is a list of positions',
  },
}
const callsFields = { from: kinds.first, number: kinds.several, limit }
const searchFields = { conversation: kinds.text, limit, cursor: kinds.text }
const findFields = {
  q: kinds.text,
  has: {
    is: (value: unknown) => isListOf(value, (one) => traitNames.some((name) => name === one)),
    needed: `is a list of ${traitNames.join(', ')}`,
  },
  actor: kinds.text,
  model: kinds.text,
  beginning: kinds.text,
  order: oneOf(['newest', 'updated', 'tokens', 'id']),
  limit,
  cursor: kinds.text,
}
const nothing = {
  kinds: '',
  sizes: [],
  tokens: [],
  times: [],
  calls: [],
  markers: [],
  rewinds: [],
  restores: [],
}
const noBranches: Branches = { abandoned: [], forks: [], isAll: false }
const noBuckets: BucketColumns = { buckets: 0, first: [], min: [], max: [], markers: [], rewinds: [] }
