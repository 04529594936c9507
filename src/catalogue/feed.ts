import type { SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import * as E from 'fp-ts/lib/Either.js'
import { notesStreamOf, streamOf, turnsStreamOf } from '../events/ids.ts'
import { unwrap, run, type Fallible } from '../result/fallible.ts'
import { toError } from '../result/typed-error.ts'
import type { InvalidInput } from '../events/errors.ts'
import { breath } from '../store/breath.ts'
import { isOfEvent, type StoreError, storeClosed } from '../store/errors.ts'
import { storeError } from '../store/sqlite/errors.ts'
import { type Checkpoint, type EventStore, type RecordedEvent, streamPage } from '../store/port.ts'
import {
  type CatalogueFile,
  inMemory,
  isDamage,
  isUnwritable,
  openAgain,
  openFile,
  reasonAt,
} from './file.ts'
import { type IndexFile, indexFileOf, type IndexPosition } from './index-file.ts'
import type { PageSums } from './page-sums.ts'

export interface IndexProgress {
  /** True if the index contained every event of the store at some moment since the request. */
  readonly isComplete: boolean
  /** Reason why indexing has stopped (an event that cannot be read), or why the index is in memory although a file was requested. */
  readonly problem?: string
}

type Row = Readonly<Record<string, SQLOutputValue>>

/** Index of a store, kept up to date with the store's events. */
export interface Feed {
  /**
   * Indexes the store's events for at most `patience` milliseconds; indexing then continues in the background. A newly opened file is
   * first compared with its checksums, which may take longer. Fails if the store cannot be read, and after `close`.
   */
  readonly catchUp: (patience: number) => Fallible<StoreError | InvalidInput, IndexProgress>
  /** Reads the index in its current state. If its file turns out to be damaged, starts the next file and reads that instead. */
  readonly read: <A>(reading: (indexed: IndexFile, file: CatalogueFile) => A) => A
  /**
   * Yields rows of a query on the index as it was when reading started, yielding to the event loop between rows. Ends early if the file
   * turns out to be damaged or is replaced by the next file.
   */
  readonly each: (sql: string, ...given: readonly SQLInputValue[]) => AsyncGenerator<Row, void>
  /**
   * Returns the number of damaged files abandoned so far. If the number grows while an answer is computed, the answer may mix data from
   * two files.
   */
  readonly left: () => number
  readonly close: () => Promise<void>
}

/** Approximate number of characters of event data indexed in one transaction. Limited because a transaction blocks the process. */
const mostAtOnce = 64 * 1024
/** Maximum difference of the clocks of two processes, with the time that an erasure takes, in milliseconds. */
const clocksDiffer = 60_000
const ours = [streamOf(''), notesStreamOf(''), turnsStreamOf('')]

/**
 * Creates the index of a store.
 *
 * @param place path of the index file; undefined for an index in memory
 */
export const createFeed = (store: EventStore, place: string | undefined): Feed => {
  let file: CatalogueFile | undefined
  let indexed: IndexFile | undefined
  let at: Checkpoint | undefined
  let isChecked = false
  let isClosed = false
  let left = 0
  /** Error that prevented writing to a file; once set, the index is in memory. */
  let unwritable: unknown
  let whole = Promise.withResolvers<void>()
  let running: Promise<E.Either<StoreError | InvalidInput, IndexProgress>> | undefined
  let next: typeof running

  /** Ids of the erasures for which a file was already left. */
  const renewedFor = new Set<string>()

  /** Reports whether the index may have the text that an event says was erased. An index begun after the erasure has none of it. */
  const isOutdatedBy = ({ type, id, metadata }: RecordedEvent): boolean => {
    if (type !== 'Erased' || renewedFor.has(id)) return false
    const { time } = JSON.parse(metadata) as { readonly time: string }
    return Date.parse(time) + clocksDiffer >= Date.parse(contents().created)
  }

  const leave = (): void => {
    file?.close()
    file = undefined
    indexed = undefined
  }
  /**
   * Closes the current file and opens the next one.
   *
   * @param damaged name of the current file, if it is damaged
   */
  const open = (damaged?: string): CatalogueFile => {
    leave()
    if (isClosed) throw toError(storeClosed(store.url))
    if (damaged !== undefined) left++
    file = unwritable === undefined ? openFile(place, damaged) : inMemory(reasonAt(place, unwritable))
    const before = whole
    whole = Promise.withResolvers()
    void whole.promise.then(before.resolve)
    isChecked = false
    return file
  }
  const current = (): CatalogueFile => file ?? open()
  /** Returns the contents of the file, which is read on the first request. */
  const contents = (): IndexFile => {
    const { db } = current()
    return (indexed ??= indexFileOf(db))
  }

  const read: Feed['read'] = (reading) => {
    try {
      return reading(contents(), current())
    } catch (error) {
      if (!isDamage(error)) throw error
      open(file?.name ?? '')
      return reading(contents(), current())
    }
  }

  const each: Feed['each'] = async function* (sql, ...given) {
    const from = current()
    const own = openAgain(from)
    try {
      const statement = (own ?? from.db).prepare(sql)
      // A connection with an open read cannot write after another process has written, so a shared connection reads all rows at once.
      const isApart = own !== undefined || from.name === undefined
      for (const row of isApart ? statement.iterate(...given) : statement.all(...given)) {
        yield row
        const pause = breath()
        if (pause) await pause
      }
    } catch (error) {
      if (file !== from) return
      if (!isDamage(error)) throw error
      open(from.name ?? '')
    } finally {
      own?.close()
    }
  }

  /**
   * Reports whether the index was built from this store. The store's URL may meanwhile refer to another store, or to an older backup of
   * this one.
   */
  async function* isOfStore({
    landmark,
    checkpoint,
  }: IndexPosition): Fallible<StoreError | InvalidInput, boolean> {
    if (!landmark) return checkpoint === undefined || (yield* isIssued(checkpoint))
    const { stream, revision, id } = landmark
    const page = await store.read({ stream, from: revision, direction: 'forwards', limit: 1 })()
    // The event exists but is damaged.
    if (E.isLeft(page) && isOfEvent(page.left)) return yield* isIssued(checkpoint)
    const [event] = yield* unwrap(page)
    return event?.id === id && (yield* isIssued(checkpoint))
  }
  async function* isIssued(after: Checkpoint | undefined): Fallible<StoreError | InvalidInput, boolean> {
    const page = await store.readAll({ after, limit: 1, prefixes: ours })()
    if (E.isRight(page) || isOfEvent(page.left)) return true
    return page.left._tag === 'InvalidInput' ? false : yield page.left
  }

  /**
   * Changes the index. Returns undefined if the file turns out to be damaged or cannot be written; all events are then indexed again in
   * a new file or in memory.
   */
  const change = (
    to: Checkpoint | undefined,
    changing: (its: IndexFile) => void,
  ): E.Either<StoreError, void> | undefined => {
    try {
      changing(contents())
      at = to
      return done
    } catch (error) {
      if (file?.name !== undefined && isUnwritable(error)) unwritable = error
      else if (!isDamage(error)) return E.left(storeError(file?.name ?? 'the index', error))
      open(file?.name ?? '')
      return undefined
    }
  }

  /**
   * Compares the file with its checksums, and abandons the file if it is damaged. Compares the whole file if it was just opened, or was
   * written to without updating the checksums; otherwise compares the next pages.
   */
  const check = async (): Promise<void> => {
    while (!isClosed) {
      const { sums } = current()
      if (!sums || (await isWhole(sums))) break
      if (file?.sums === sums) open(file.name)
    }
    whole.resolve()
  }
  /** Reports whether the compared pages match their checksums; also returns false if the file was abandoned meanwhile. */
  const isWhole = async (sums: PageSums): Promise<boolean> => {
    for (const isAsWritten of sums.isTouched() ? sums.all() : [sums.isNextWhole()]) {
      await breath()
      if (!isAsWritten || isClosed || file?.sums !== sums) return false
    }
    return true
  }

  /** Ensures that the file is intact and belongs to this store, and that indexing continues after the last event in the index. */
  async function* prepare(): Fallible<StoreError | InvalidInput, void> {
    for (;;) {
      await check()
      if (isClosed) return yield storeClosed(store.url)
      if (isChecked) return
      const before = left
      const reached = read((its) => its.reached())
      const isOurs = yield* isOfStore(reached)
      if (left !== before) continue
      isChecked = isOurs
      at = reached.checkpoint
      if (!isOurs) open(file?.name ?? '')
    }
  }

  async function* advance(): Fallible<StoreError | InvalidInput, IndexProgress> {
    yield* prepare()
    let limit = streamPage
    let seen = left
    reading: while (!isClosed) {
      // A query may have found damage and opened the next file.
      if (left !== seen) yield* prepare()
      seen = left
      const page = await store.readAll({ after: at, limit, prefixes: ours })()
      if (left !== seen) continue
      if (E.isLeft(page) && isOfEvent(page.left)) {
        const { left: unread } = page
        // The events before the unreadable one are indexed first, in smaller pages.
        if (limit === 1) {
          const to = 'checkpoint' in unread ? unread.checkpoint : undefined
          if (to === undefined) return { isComplete: false, problem: unread.message }
          const passed = change(to, (its) => its.pass(unread, at, to))
          if (passed) yield* unwrap(passed)
          file?.sums?.settle(false)
        }
        // The next event may be of the same conversation: after one that cannot be read, pages grow again step by step.
        if (limit > 1) limit = Math.floor(limit / 2)
        continue
      }
      const { events, checkpoint, isEnd } = yield* unwrap(page)
      const erased = events.filter(isOutdatedBy)
      if (erased.length > 0) {
        for (const { id } of erased) renewedFor.add(id)
        open(file?.name ?? '')
        continue
      }
      const isSame = events.length === 0 && checkpoint === at
      for (const part of isSame ? [] : partsOf(events)) {
        const isLast = part.at(-1) === events.at(-1)
        const to = isLast ? checkpoint : part.at(-1)?.checkpoint
        const taken = change(to, (its) => its.take(part, at, to))
        if (!taken) continue reading
        yield* unwrap(taken)
        await breath()
        if (isClosed) break reading
        file?.sums?.settle(false)
        await breath()
        if (isClosed) break reading
        if (left !== seen) continue reading
      }
      if (isEnd || isSame) return { isComplete: true }
      limit = Math.min(2 * limit, streamPage)
    }
    return { isComplete: false }
  }

  const begin = (): NonNullable<typeof running> => {
    if (running)
      return (next ??= running.then(() => {
        next = undefined
        return begin()
      }))
    running = run(advance()).finally(() => {
      running = undefined
    })
    return running
  }

  return {
    catchUp: async function* (patience): Fallible<StoreError | InvalidInput, IndexProgress> {
      const going = begin()
      // Answers from a file that was not yet compared with its checksums may be wrong.
      await Promise.race([whole.promise, going])
      const ending = new AbortController()
      const late = sleep(patience, notYet, { signal: ending.signal, ref: false })
      try {
        const progress = yield* unwrap(Promise.race([going, late.catch(() => notYet)]))
        const { problem } = file ?? {}
        return problem === undefined ? progress : { problem, ...progress }
      } finally {
        ending.abort()
      }
    },
    read,
    each,
    left: () => left,
    close: async () => {
      isClosed = true
      await running?.catch(() => undefined)
      file?.sums?.settle(true)
      leave()
    },
  }
}

const done: E.Either<never, void> = E.right(undefined)
const notYet: E.Either<never, IndexProgress> = E.right({ isComplete: false })

/** Splits events into batches small enough to be indexed quickly; returns one empty batch if there are no events. */
const partsOf = (events: readonly RecordedEvent[]): readonly (readonly RecordedEvent[])[] => {
  const parts: RecordedEvent[][] = [[]]
  let length = 0
  for (const event of events) {
    if (length > mostAtOnce) parts.push([])
    if (length > mostAtOnce) length = 0
    length += event.data.length
    parts.at(-1)?.push(event)
  }
  return parts
}
