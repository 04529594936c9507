import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { outOfRange } from '../commands/rejections.ts'
import { invalidInput } from '../events/errors.ts'
import { streamOf } from '../events/ids.ts'
import { openAt, outsideOf } from '../conversation/reading/log.ts'
import { orNearest } from '../conversation/reading/nearest-conversation.ts'
import type { BucketColumns } from '../projections/columns.ts'
import type { HiddenByMarker } from '../projections/lookups.ts'
import { unwrap, type Fallible, task } from '../result/fallible.ts'
import { breath } from '../store/breath.ts'
import type { ReadError } from '../store/errors.ts'
import { checkOptions, isListOf, kinds, oneOf } from '../store/options.ts'
import type { EventStore } from '../store/port.ts'
import { type CallCursor, type CallsPage, callsBefore, callsPage } from './calls.ts'
import { type BranchSummary, branchesOf } from './branches.ts'
import { chunkLength } from './columns.ts'
import { createFeed, type IndexProgress } from './feed.ts'
import type { IndexFile } from './index-file.ts'
import { listRows, listInfos, infosOf, type ConversationInfoPage } from './list.ts'
import { createBucketTaker, createOutlineTaker, type PieceTaker, tallyAt } from './outline.ts'
import type {
  AboutPage,
  BranchesPage,
  BucketsPage,
  CallsOptions,
  Catalogue,
  EntryFate,
  FatesOptions,
  FindFilter,
  FindPage,
  OutlineOptions,
  OutlinePage,
  OverviewOptions,
  SearchOptions,
  SearchPage,
  UpTo,
} from './port.ts'
import { searchText, unsearchable, noteOfUnread } from './search.ts'
import type { ConversationRow } from './conversation-row.ts'
import { factsIn } from './list/conversation-facts.ts'
import { statuses } from './status.ts'
import { traitNames } from './traits.ts'
import { fateIn, viewOf } from './views.ts'

/** Maximum number of events in an outline. */
const longest = 100_000
/** Number of events read in one step: eight chunks. */
const pieceLength = 8 * chunkLength
/** Default time to wait for the index before answering, in milliseconds. */
const usualPatience = 2_000

/** A page of conversations with their information. `isComplete` is true if the index was complete at some moment since the request. */
export interface KnownPage extends ConversationInfoPage, Pick<FindPage, 'isComplete'> {}

export interface OwnCatalogue extends Catalogue<'task'> {
  /** Returns conversations with their information, by default the most recently active first; also with facts, if `facts`. */
  readonly infos: (options: FindFilter & { readonly facts?: boolean }) => TaskEither<ReadError, KnownPage>
  /** Returns the information on the given conversations that are in the index, in no particular order. */
  readonly infosOf: (ids: readonly string[]) => TaskEither<ReadError, Omit<KnownPage, 'next'>>
  readonly close: () => Promise<void>
}

/**
 * Creates the catalogue of a store.
 *
 * @param place path of the catalogue's file; undefined for a catalogue in memory
 * @param patience time to wait for the index before answering, in milliseconds
 */
export const catalogueOf = (
  store: EventStore,
  place: string | undefined,
  patience = usualPatience,
): OwnCatalogue => {
  const feed = createFeed(store, place)
  /** Time to wait for the index when the answer can be given without it, in milliseconds. */
  const littlePatience = patience / 8

  /**
   * Waits at most `most` milliseconds for the index. Returns how far the conversation is indexed, and whether the conversation and the
   * rest of the store are completely indexed.
   */
  async function* caughtUp(
    id: string,
    most: number,
  ): Fallible<ReadError, { readonly known: UpTo; readonly isComplete: boolean }> {
    const { last } = yield* unwrap(orNearest(store, () => openAt(store, id)))
    const { problem, isComplete } = yield* feed.catchUp(most)
    const row = feed.read(({ rows }) => rows.byId(id))
    const why = row?.problem ?? problem
    const indexed = Math.min(last, row?.last ?? -1)
    const known = { last, indexed, ...(indexed < last && why !== undefined && { problem: why }) }
    return { known, isComplete: isComplete && indexed === last }
  }
  async function* upTo(id: string): Fallible<ReadError, UpTo> {
    return (yield* caughtUp(id, patience)).known
  }

  /** Reads the indexed part of a conversation; returns undefined if none of it is indexed. */
  const read = <A>(
    id: string,
    { indexed: last }: UpTo,
    reading: (row: ConversationRow, indexed: IndexFile, db: DatabaseSync) => A,
  ): A | undefined =>
    feed.read((indexed, { db }) => {
      const row = indexed.rows.byId(id)
      return row && last >= 0 ? reading({ ...row, last }, indexed, db) : undefined
    })

  /** Reads a conversation piece by piece. Returns false if the index was rebuilt meanwhile and does not yet contain the next piece. */
  const eachPiece = async <P>(
    id: string,
    { indexed: last }: UpTo,
    [from, to]: readonly [number, number],
    taker: PieceTaker<P, unknown>,
  ): Promise<boolean> => {
    for (let first = from; first <= to; first += pieceLength) {
      const end = Math.min(to, first + pieceLength - 1)
      const piece = feed.read(({ rows }, { db }) => {
        const row = rows.byId(id)
        return row && row.last >= end
          ? { read: taker.read(db, rows, { ...row, last }, first, end) }
          : undefined
      })
      if (!piece) return false
      taker.take(piece.read)
      await breath()
    }
    return true
  }

  async function* outline(id: string, options?: OutlineOptions): Fallible<ReadError, OutlinePage> {
    const { from = 0, to = Infinity } = yield* unwrap(
      checkOptions(options, { from: kinds.first, to: kinds.last }),
    )
    const known = yield* upTo(id)
    if (from > known.last) return yield outOfRange(id, from, known.last)
    const wanted = Math.min(to, known.last)
    const end = Math.min(wanted, known.indexed, from + longest - 1)
    const outlined = createOutlineTaker(from)
    const whole = await eachPiece(id, known, [from, end], outlined)
    const columns = outlined.taken()
    // The index was rebuilt meanwhile.
    if (!whole) return { ...columns, ...known, indexed: columns.to }
    const isMore = end < Math.min(wanted, known.indexed)
    return { ...columns, ...known, ...(isMore && { next: end + 1 }) }
  }

  async function* overview(id: string, options?: OverviewOptions): Fallible<ReadError, BucketsPage> {
    const { buckets = 1_200 } = yield* unwrap(checkOptions(options, { buckets: kinds.several }))
    const known = yield* upTo(id)
    const filled = createBucketTaker(known.indexed + 1, buckets)
    const whole = await eachPiece(id, known, [0, known.indexed], filled)
    return whole ? { ...filled.taken(), ...known } : { ...noBuckets, ...known, indexed: -1 }
  }

  async function* hiddenBy(
    id: string,
    markers: readonly number[],
  ): Fallible<ReadError, readonly HiddenByMarker[]> {
    if (!Array.isArray(markers)) return yield invalidInput('markers', 'must be a list of positions')
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

  async function* hidden(id: string, marker: number): Fallible<ReadError, HiddenByMarker | undefined> {
    return (yield* hiddenBy(id, [marker]))[0]
  }

  async function* branches(
    id: string,
    options?: Parameters<Catalogue<'task'>['branches']>[1],
  ): Fallible<ReadError, BranchesPage> {
    const { at } = yield* unwrap(checkOptions(options, { at: kinds.position }))
    const { known: all, isComplete } = yield* caughtUp(id, patience)
    const outside = outsideOf(id, at, all.last)
    if (outside) return yield outside
    const known = { ...all, indexed: Math.min(all.indexed, at ?? Infinity) }
    const found = read(id, known, (row, { rows }, db) => branchesOf(db, rows, row)) ?? noBranches
    return { ...found, isAll: found.isAll && isComplete, ...known }
  }

  async function* about(id: string): Fallible<ReadError, AboutPage> {
    const { known } = yield* caughtUp(id, littlePatience)
    const facts = read(id, known, (row) => factsIn(row, Date.now()))
    return { ...facts, id, ...known }
  }

  async function* search(text: string, options?: SearchOptions): Fallible<ReadError, SearchPage> {
    const unfit = unsearchable(text)
    if (unfit) return yield unfit
    const { conversation: id, limit = 20, cursor } = yield* unwrap(checkOptions(options, searchFields))
    if (id === undefined) {
      const progress = yield* feed.catchUp(patience)
      // Until everything is indexed, a problem would say that nothing more will be.
      const unsearched = progress.isComplete ? feed.read((_, { db }) => noteOfUnread(db)) : undefined
      return {
        ...progress,
        ...(unsearched !== undefined && { problem: unsearched }),
        ...(yield* searchText(store, feed, { text, conversation: undefined, limit, cursor })),
      }
    }
    const known = yield* upTo(id)
    const conversation = read(id, known, (row) => row)
    const isComplete = known.indexed === known.last
    if (!conversation) return { titles: [], items: [], isComplete, ...known }
    return {
      isComplete,
      ...known,
      ...(yield* searchText(store, feed, { text, conversation, limit, cursor })),
    }
  }

  /**
   * Returns the checkpoint up to which the store is indexed, and the store's last checkpoint if the store reports it within
   * `littlePatience`, so that the answer is not delayed.
   */
  const placesOf = async ({ isComplete }: IndexProgress): Promise<Pick<FindPage, 'indexed' | 'last'>> => {
    const { checkpoint: indexed } = feed.read((its) => its.reached())
    if (isComplete) return indexed === undefined ? {} : { indexed, last: indexed }
    const ending = new AbortController()
    const late = sleep(littlePatience, undefined, { signal: ending.signal, ref: false })
    const end = await Promise.race([store.changed(streamOf(''), undefined)(), late.catch(() => undefined)])
    ending.abort()
    const last = end && E.isRight(end) ? end.right.checkpoint : undefined
    return { ...(indexed !== undefined && { indexed }), ...(last !== undefined && { last }) }
  }

  async function* find(options?: FindFilter): Fallible<ReadError, FindPage> {
    const {
      order = 'activity',
      limit = 50,
      cursor,
      ...rest
    } = yield* unwrap(checkOptions(options, findFields))
    const progress = yield* feed.catchUp(patience)
    const places = await placesOf(progress)
    const found = yield* listRows(store, feed, { ...rest, order, limit, cursor }, progress.isComplete)
    return { ...progress, ...places, ...found }
  }

  async function* infos({
    limit = 50,
    order = 'activity',
    cursor,
    facts = false,
    ...filter
  }: Parameters<OwnCatalogue['infos']>[0]): Fallible<ReadError, KnownPage> {
    const { isComplete } = yield* feed.catchUp(patience)
    const page = yield* listInfos(store, feed, { ...filter, order, limit, cursor }, facts)
    return { isComplete, ...page }
  }

  /** Reports whether the store has too many new events to say which streams they are in. */
  async function* isFarBehind(): Fallible<ReadError, boolean> {
    const { checkpoint } = feed.read((its) => its.reached())
    const { streams } = yield* unwrap(store.changed(streamOf(''), checkpoint))
    return streams === undefined
  }

  async function* infosBy(ids: readonly string[]): Fallible<ReadError, KnownPage> {
    // Reading the conversations is faster than indexing many events first, and both would share the thread.
    if (store.beginnings && (yield* isFarBehind())) return { isComplete: false, items: [] }
    const { isComplete } = yield* feed.catchUp(patience)
    return { isComplete, items: infosOf(feed, ids) }
  }

  /**
   * Returns the calls before the requested ones. Waits only briefly for the index, because reading the events that are not indexed yet
   * takes no longer than waiting.
   */
  async function* passed(id: string, asked: CallsOptions): Fallible<ReadError, CallCursor | undefined> {
    const { known } = yield* caughtUp(id, littlePatience)
    return read(id, known, (row, { rows }, db) => callsBefore(db, rows, row, asked))
  }

  async function* calls(id: string, options?: CallsOptions): Fallible<ReadError, CallsPage> {
    const { limit = 1_000, ...asked } = yield* unwrap(checkOptions(options, callsFields))
    // Reading from the first call does not need the index.
    const isFirst = !asked.from && asked.number === undefined
    const before = isFirst ? undefined : yield* passed(id, asked)
    return yield* callsPage(yield* unwrap(orNearest(store, () => openAt(store, id))), {
      ...asked,
      before,
      limit,
    })
  }

  async function* fates(
    id: string,
    options: FatesOptions,
  ): Fallible<ReadError, readonly EntryFate[] | undefined> {
    const { at, of = [] } = yield* unwrap(checkOptions(options, fatesFields))
    if (at === undefined) return yield invalidInput('at', 'must be the position at which to view the history')
    const known = yield* upTo(id)
    if (at > known.last) return yield outOfRange(id, at, known.last)
    if (known.indexed < at) return undefined
    const row = read(id, { ...known, indexed: at }, (found) => found)
    const view = row && (await viewOf(feed, row))
    return (
      view &&
      of.flatMap((position): readonly EntryFate[] => {
        const fate = position >= 0 && position <= at ? fateIn(view, position, at) : undefined
        return fate ? [{ position, ...fate }] : []
      })
    )
  }

  /**
   * Runs a request, and repeats it if the index file was found to be damaged meanwhile, because part of the answer may come from that
   * file.
   */
  const whole = <Err, A>(asking: () => Fallible<Err, A>): TaskEither<Err, A> =>
    task(async function* (): Fallible<Err, A> {
      for (;;) {
        const before = feed.left()
        const answer = yield* asking()
        if (feed.left() === before) return answer
      }
    })

  return {
    find: (options) => whole(() => find(options)),
    infos: (options) => whole(() => infos(options)),
    infosOf: (ids) => whole(() => infosBy(ids)),
    search: (text, options) => whole(() => search(text, options)),
    about: (id) => whole(() => about(id)),
    outline: (id, options) => whole(() => outline(id, options)),
    overview: (id, options) => whole(() => overview(id, options)),
    hidden: (id, marker) => whole(() => hidden(id, marker)),
    hiddenBy: (id, markers) => whole(() => hiddenBy(id, markers)),
    calls: (id, options) => whole(() => calls(id, options)),
    branches: (id, options) => whole(() => branches(id, options)),
    fates: (id, options) => whole(() => fates(id, options)),
    close: feed.close,
  }
}

const limit = {
  is: (value: unknown) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000,
  needed: 'must be a whole number from 1 to 1,000',
}
const fatesFields = {
  at: kinds.first,
  of: {
    is: (value: unknown) => isListOf(value, Number.isInteger),
    needed: 'must be a list of positions',
  },
}
const callsFields = { from: kinds.first, number: kinds.several, limit }
const searchFields = { conversation: kinds.text, limit, cursor: kinds.text }
const findFields = {
  q: kinds.text,
  has: {
    is: (value: unknown) => isListOf(value, (one) => traitNames.some((name) => name === one)),
    needed: `must be a list of ${traitNames.join(', ')}`,
  },
  status: {
    is: (value: unknown) => isListOf(value, (one) => statuses.some((name) => name === one)),
    needed: `must be a list of ${statuses.join(', ')}`,
  },
  errors: kinds.flag,
  actor: kinds.text,
  model: kinds.text,
  beginning: kinds.text,
  order: oneOf(['activity', 'begun', 'tokens', 'id', 'updated', 'newest']),
  limit,
  cursor: kinds.text,
}
const noBranches: BranchSummary = { abandoned: [], forks: [], isAll: false }
const noBuckets: BucketColumns = {
  buckets: 0,
  first: [],
  min: [],
  max: [],
  kinds: {},
  markers: [],
  rewinds: [],
  failed: [],
  retries: [],
}
