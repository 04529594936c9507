import type { SQLOutputValue, StatementSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../../events/errors.ts'
import { checkedAppend } from '../checked-append.ts'
import { checkpointAt } from '../checkpoints.ts'
import { type StoreError, storeClosed } from '../errors.ts'
import { remembered } from '../lru.ts'
import { followTail } from '../follow.ts'
import type { EventStore, Found, RecordedEvent } from '../port.ts'
import { pulse } from '../pulse.ts'
import { type Source, tailOf } from '../tail.ts'
import { allReader } from './all.ts'
import { backupSqlite } from './backup.ts'
import { sqliteBlobs } from './blobs.ts'
import { storeError } from './errors.ts'
import { guardOf } from './guard.ts'
import { openDatabase } from './open.ts'
import { damaged, integrityProblems } from './integrity.ts'
import { lazily } from './lazily.ts'
import { columns, markOf, recorded, type Row } from './rows.ts'
import { type SqliteSettings, sqliteSettings } from './settings.ts'
import { type Kept, sqliteWriter } from './writer.ts'

/** How often followers look for writes of other processes, in milliseconds. */
const pollInterval = 50
/** So many rows are read at once, whatever they hold; of more, as many as hold so many characters of data. */
const smallPage = 32
const pageLength = 1024 * 1024
/** Pages of names whose ends are kept. */
const maxEnds = 100
/** More than any id of a stream. */
const beyond = 2n ** 63n - 1n

const recordedAs = ({ request, position }: Kept): readonly RecordedEvent[] => {
  const { stream, events, expected } = request
  const first = position - events.length + 1
  return events.map((event, index) => ({
    ...event,
    stream,
    revision: expected + 1 + index,
    checkpoint: checkpointAt(first + index, markOf(event.id)),
  }))
}

/** Opens an SQLite file as a store: `sqlite:path/to/file.db`. Several processes may have it open at once. */
export const openSqlite =
  (address: string, create = true): TaskEither<StoreError | InvalidInput, EventStore> =>
  async () => {
    const settings = sqliteSettings(address)
    return E.isLeft(settings) ? settings : openFile(settings.right, create)()
  }

const openFile =
  (settings: SqliteSettings, create: boolean): TaskEither<StoreError, EventStore> =>
  async () => {
    const { url } = settings
    const opened = await openDatabase(settings, create)
    if (E.isLeft(opened)) return opened
    const db = opened.right
    const guard = guardOf(db, settings)
    const changes = pulse()
    // Prepared when first used: who opens a store to look at one thing waits for no more than that.
    const writer = lazily(() => sqliteWriter(db, settings, guard, wrote))
    const prepared = (sql: string): (() => StatementSync) =>
      lazily(() => {
        const statement = db.prepare(sql)
        statement.setReadBigInts(true)
        return statement
      })
    const statements = {
      stream: prepared('SELECT id, last, hash FROM streams WHERE name = ?'),
      forwards: prepared(
        `SELECT ${columns} FROM events e WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?`,
      ),
      backwards: prepared(
        `SELECT ${columns} FROM events e WHERE stream = ? AND revision <= ? ORDER BY revision DESC LIMIT ?`,
      ),
      find: prepared('SELECT revision FROM events WHERE stream = ? AND id = ? AND findable = 1'),
      count: prepared(
        `SELECT count(*) AS n FROM events WHERE stream = ? AND type = ? AND revision <= ? AND type <> 'MessageAppended'`,
      ),
      others: prepared(
        `SELECT count(*) AS n FROM events WHERE stream = ? AND revision <= ? AND type <> 'MessageAppended'`,
      ),
      last: prepared('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1'),
      streams: prepared(
        'SELECT name FROM streams WHERE name > ? AND substr(name, 1, ?) = ? ORDER BY name LIMIT ?',
      ),
      newest: prepared(
        'SELECT id, name FROM streams WHERE id < ? AND substr(name, 1, ?) = ? ORDER BY id DESC LIMIT ?',
      ),
    }
    let isClosed = false

    /** Reads never wait: in WAL mode a writer does not hold them up. */
    const reading =
      <A, Err = never>(read: () => E.Either<StoreError | Err, A>): TaskEither<StoreError | Err, A> =>
      async () => {
        if (isClosed) return E.left(storeClosed(url))
        try {
          const changed = guard.schemaProblem()
          return changed ? E.left(changed) : read()
        } catch (error) {
          return E.left(storeError(url, error))
        }
      }

    /** An answer that tells somebody that all is there: what is gone from the path is not. */
    const unlessLost = <A>(answer: A): E.Either<StoreError, A> => {
      const lost = guard.fileProblem()
      return lost ? E.left(lost) : E.right(answer)
    }

    /** A page of rows, no more than can be read without holding up the process. */
    const rowsOf = (statement: StatementSync, id: SQLOutputValue, from: number, limit: number): Row[] => {
      if (limit <= smallPage) return statement.all(id, from, limit)
      const rows: Row[] = []
      let length = 0
      for (const row of statement.iterate(id, from, limit)) {
        rows.push(row)
        length += String(row['data']).length
        if (length > pageLength) break
      }
      return rows
    }

    const idOf = (stream: string): SQLOutputValue | undefined => statements.stream().get(stream)?.['id']

    // A name that is not well-formed UTF-8 reads as another one, behind which it comes itself.
    const namesOf = (prefix: string, after: string, limit: number): readonly string[] => {
      const behind = Buffer.from(after)
      const rows = statements.streams().all(after, prefix.length, prefix, limit)
      return rows
        .map(({ name }) => String(name))
        .filter((name) => Buffer.compare(Buffer.from(name), behind) > 0)
    }

    /** By the last name of a page, where it ended: a name that is not well-formed UTF-8 is not found by what it reads as. */
    const ends = remembered<SQLOutputValue>(maxEnds)
    const newestOf = (prefix: string, before: string | undefined, limit: number): readonly string[] => {
      const end = before === undefined ? beyond : (ends.get(before) ?? idOf(before))
      if (end === undefined) return []
      const rows = statements.newest().all(end, prefix.length, prefix, limit)
      const last = rows.at(-1)
      if (last?.['id'] !== undefined) ends.set(String(last['name']), last['id'])
      return rows.map(({ name }) => String(name))
    }

    const countOf = (stream: string, type: string, through: number): number => {
      const id = idOf(stream)
      if (id === undefined) return 0
      if (type !== 'MessageAppended') return Number(statements.count().get(id, type, through)?.['n'])
      const last = Number(statements.last().get(id)?.['revision'] ?? -1)
      return Math.min(last, through) + 1 - Number(statements.others().get(id, through)?.['n'])
    }

    const all = allReader(url, prepared)
    const page: Source['page'] = (range) =>
      reading(() => {
        const read = all.page(range)
        return E.isLeft(read) ? read : unlessLost(read.right)
      })()
    const source: Source = { page, pulse: changes, isClosed: () => isClosed, pollInterval }
    const tail = tailOf(source)

    /** What this process has written need not be read to be followed. */
    const wrote = (kept: readonly Kept[]): void => {
      if (!tail.offer(() => kept.flatMap(recordedAs))) changes.beat()
    }

    return E.right({
      url,
      append: (request) => () => {
        if (isClosed) return Promise.resolve(E.left(storeClosed(url)))
        const checked = checkedAppend(request)
        return E.isLeft(checked) ? Promise.resolve(checked) : writer().append(checked.right)
      },
      read: ({ stream, from, direction, limit }) =>
        reading(() => {
          const id = idOf(stream)
          return id === undefined
            ? E.right([])
            : recorded(rowsOf(statements[direction](), id, from, limit), stream)
        }),
      find: (stream, eventId) =>
        reading<Found>(() => {
          const id = idOf(stream)
          if (id === undefined) return E.right({ revision: undefined, through: -1 })
          const found = statements.find().get(id, eventId)?.['revision']
          const through = Number(statements.last().get(id)?.['revision'] ?? -1)
          return found === undefined
            ? E.right({ revision: undefined, through })
            : unlessLost({ revision: Number(found), through })
        }),
      count: (stream, type, through) => reading(() => E.right(countOf(stream, type, through))),
      keptEnd: (stream) =>
        reading(() => {
          const { last, hash } = statements.stream().get(stream) ?? {}
          return E.right(
            typeof last === 'bigint' && typeof hash === 'string' ? { last: Number(last), hash } : undefined,
          )
        }),
      streams: (prefix, after, limit) => reading(() => E.right(namesOf(prefix, after, limit))),
      newest: (prefix, before, limit) => reading(() => E.right(newestOf(prefix, before, limit))),
      changed: (prefix, since) => reading(() => E.right(all.changed(prefix, since))),
      readAll: (range) => () => page(range).then(E.map(({ events, checkpoint }) => ({ events, checkpoint }))),
      follow: (options) => followTail(source, tail, options),
      blobs: sqliteBlobs(db, settings, guard, () => isClosed),
      integrity: () => async () => {
        if (isClosed) return E.left(storeClosed(url))
        try {
          const problems = await integrityProblems(settings.path)
          return problems.length === 0 ? E.right(undefined) : E.left(damaged(url, problems))
        } catch (error) {
          return E.left(storeError(url, error))
        }
      },
      backup: (file, options) => async () =>
        isClosed ? E.left(storeClosed(url)) : backupSqlite(settings, file, options),
      maxAppendBytes: Infinity,
      close: () => async () => {
        if (isClosed) return E.right(undefined)
        isClosed = true
        await writer.made()?.finish()
        changes.beat()
        try {
          db.close()
          return E.right(undefined)
        } catch (error) {
          return E.left(storeError(url, error))
        }
      },
    })
  }
