import type { DatabaseSync, StatementSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../../events/errors.ts'
import { unwrap, type Fallible, task } from '../../result/fallible.ts'
import { breath } from '../breath.ts'
import { checkAppend } from '../check-append.ts'
import { type StoreError, storeClosed } from '../errors.ts'
import { followTail } from '../follow.ts'
import type { EventStore } from '../port.ts'
import { pulse } from '../pulse.ts'
import { type TailSource, type TailPage, tailOf } from '../tail.ts'
import { toRecordedEvents, type WrittenAppend } from '../written-append.ts'
import { allReader } from './all.ts'
import { backupSqlite } from './backup.ts'
import { sqliteBlobs } from './blobs.ts'
import { storeError } from './errors.ts'
import { guardOf } from './guard.ts'
import { checkColumns, notAsWritten } from './columns.ts'
import { damagedError, integrityProblems } from './integrity.ts'
import { once } from '../../result/once.ts'
import { openDatabase } from './open.ts'
import { streamReads } from './reads.ts'
import { sqliteLiveness } from './liveness.ts'
import { rewrite } from './rewrite.ts'
import { scrub } from './scrub.ts'
import { type SqliteSettings, sqliteSettings } from './settings.ts'
import { watchOthers } from './watch.ts'
import { type SqliteWriter, sqliteWriter } from './writer.ts'

/** Interval at which followers check whether the file is still at its path, in milliseconds. */
const pollInterval = 1_000

/** Opens an SQLite file as a store: `sqlite:path/to/file.db`. Several processes may open it at once. */
export const openSqlite = (
  address: string,
  create = true,
): TaskEither<StoreError | InvalidInput, EventStore> =>
  task(async function* (): Fallible<StoreError | InvalidInput, EventStore> {
    const settings = yield* unwrap(sqliteSettings(address))
    return storeOn(yield* openDatabase(settings, create), settings)
  })

const storeOn = (db: DatabaseSync, settings: SqliteSettings): EventStore => {
  const { url } = settings
  const guard = guardOf(db, settings)
  const changes = pulse()
  const liveness = sqliteLiveness(settings.path)
  // Created at first use, so that opening a store for one purpose does not wait for anything else.
  let writer: SqliteWriter | undefined
  const prepared = (sql: string): (() => StatementSync) =>
    once(() => {
      const statement = db.prepare(sql)
      statement.setReadBigInts(true)
      return statement
    })
  const streams = streamReads(prepared)
  const all = allReader(url, prepared)
  let isClosed = false

  /**
   * Returns a read that first pauses for the event loop if a pause is due. In WAL mode, reads do not wait for writers, but the driver
   * answers synchronously, so sequential reads would never let the process do anything else.
   */
  const reading =
    <A, Err = never>(read: () => E.Either<StoreError | Err, A>): TaskEither<StoreError | Err, A> =>
    async () => {
      const pause = breath()
      if (pause) await pause
      if (isClosed) return E.left(storeClosed(url))
      try {
        const problem = guard.readProblem()
        return problem ? E.left(problem) : read()
      } catch (error) {
        return E.left(storeError(url, error))
      }
    }

  /**
   * Returns a result that reports events as stored, or an error if the file is no longer at its path, because the events can then no
   * longer be found.
   */
  const unlessLost = <A>(answer: A): E.Either<StoreError, A> => {
    const lost = guard.fileProblem()
    return lost ? E.left(lost) : E.right(answer)
  }

  const page: TailSource['page'] = (range) =>
    reading(() => E.flatMap(unlessLost<TailPage>)(all.page(range)))()
  const source: TailSource = {
    page,
    pulse: changes,
    isClosed: () => isClosed,
    pollInterval,
    watchOthers: (signal) => watchOthers(db, settings.path, changes.beat, signal),
  }
  const tail = tailOf(source)

  /** Passes written events to the followers in this process, so that the followers need not read them from the file. */
  const wrote = (kept: readonly WrittenAppend[]): void => {
    if (!tail.offer(() => kept.flatMap(toRecordedEvents))) changes.beat()
  }

  return {
    url,
    append: (request) => () => {
      if (isClosed) return Promise.resolve(E.left(storeClosed(url)))
      const checked = checkAppend(request)
      return E.isLeft(checked)
        ? Promise.resolve(checked)
        : (writer ??= sqliteWriter(db, settings, guard, wrote)).append(checked.right)
    },
    read: (range) => reading(() => streams.page(range)),
    beginnings: (names, limit) => reading(() => E.right(streams.beginnings(names, limit))),
    find: (stream, id) =>
      reading(() => {
        const found = streams.find(stream, id)
        return found.revision === undefined ? E.right(found) : unlessLost(found)
      }),
    count: (stream, type, through) => reading(() => E.right(streams.count(stream, type, through))),
    keptEnd: (stream) => reading(() => E.right(streams.keptEnd(stream))),
    streams: (prefix, after, limit) => reading(() => E.right(streams.streams(prefix, after, limit))),
    newest: (prefixes, before, limit) => reading(() => E.right(streams.newest(prefixes, before, limit))),
    changed: (prefix, since) => reading(() => E.right(all.changed(prefix, since))),
    readAll: (range) => () => page(range),
    follow: (options) => followTail(source, tail, options),
    blobs: sqliteBlobs(db, settings, guard, () => isClosed),
    integrity: () => async () => {
      if (isClosed) return E.left(storeClosed(url))
      try {
        const problems = await integrityProblems(settings.path)
        if (problems.length > 0) return E.left(damagedError(url, problems))
        const changed = await checkColumns(settings.path)
        return changed.problems.length > 0
          ? E.left(notAsWritten(settings, changed.problems))
          : E.right(undefined)
      } catch (error) {
        return E.left(storeError(url, error))
      }
    },
    backup: (file, options) => async () =>
      isClosed ? E.left(storeClosed(url)) : backupSqlite(settings, file, options),
    scrub: () => async () => (isClosed ? E.left(storeClosed(url)) : scrub(db, settings)),
    rewrite: (options) => async () => (isClosed ? E.left(storeClosed(url)) : rewrite(db, settings, options)),
    liveness,
    maxAppendBytes: Infinity,
    close: () => async () => {
      if (isClosed) return E.right(undefined)
      isClosed = true
      liveness.drop()
      await writer?.finish()
      changes.beat()
      try {
        db.close()
        return E.right(undefined)
      } catch (error) {
        return E.left(storeError(url, error))
      }
    },
  }
}
