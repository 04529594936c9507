import type { SQLOutputValue, StatementSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../../events/errors.ts'
import { checkedAppend } from '../checked-append.ts'
import { checkpointAt, noCheckpoint, numbered } from '../checkpoints.ts'
import { type StoreError, storeClosed } from '../errors.ts'
import { followReads } from '../follow.ts'
import type { AllPage, AllRange, Checkpoint, EventStore, RecordedEvent } from '../port.ts'
import { pulse } from '../pulse.ts'
import { sqliteBlobs } from './blobs.ts'
import { storeError } from './errors.ts'
import { openDatabase, sqliteSettings } from './open.ts'
import { lazily } from './lazily.ts'
import { sqliteWriter } from './writer.ts'

/** How often followers look for writes of other processes, in milliseconds. */
const pollInterval = 50
/** Events that one read of everything looks through at most: a filter that matches nothing must not hold up the process. */
const window = 5_000

// The schema's tables are STRICT: a column holds what it is declared to.
type Row = Record<string, SQLOutputValue>

const recordedIn =
  (stream: string) =>
  (row: Row): RecordedEvent => ({
    stream,
    revision: row['revision'] as number,
    checkpoint: checkpointOf(row),
    id: row['id'] as string,
    type: row['type'] as string,
    data: row['data'] as string,
    metadata: row['metadata'] as string,
  })

/** By its event's id, which copies and backups of the same events have as well, and no other store. */
const checkpointOf = ({ position, id }: Row): Checkpoint => checkpointAt(Number(position), markOf(id))
const markOf = (id: unknown): string => String(id).slice(0, 8)

const columns = 'revision, position, e.id AS id, type, data, metadata'

/** Opens an SQLite file as a store: `sqlite:path/to/file.db`. Several processes may have it open at once. */
export const openSqlite =
  (url: string, create = true): TE.TaskEither<StoreError | InvalidInput, EventStore> =>
  async () => {
    const settings = sqliteSettings(url)
    if (E.isLeft(settings)) return settings
    const opened = await openDatabase(settings.right, create)
    if (E.isLeft(opened)) return opened
    const db = opened.right
    const changes = pulse()
    // Prepared when first used: who opens a store to look at one thing waits for no more than that.
    const writer = lazily(() => sqliteWriter(db, settings.right, changes.beat))
    const prepared = (sql: string): (() => StatementSync) => lazily(() => db.prepare(sql))
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
      newest: prepared('SELECT max(position) AS position FROM events'),
      at: prepared('SELECT position, id FROM events WHERE position = ?'),
      all: prepared(
        `SELECT s.name AS stream, ${columns} FROM events e JOIN streams s ON s.id = e.stream
         WHERE position > ? AND position <= ? AND EXISTS (
           SELECT 1 FROM json_each(?) p WHERE substr(s.name, 1, length(p.value)) = p.value
         ) ORDER BY position LIMIT ?`,
      ),
    }
    let isClosed = false

    /** Reads never wait: in WAL mode a writer does not hold them up. */
    const reading =
      <A>(read: () => A): TE.TaskEither<StoreError, A> =>
      async () => {
        if (isClosed) return E.left(storeClosed(settings.right.url))
        try {
          return E.right(read())
        } catch (error) {
          return E.left(storeError(settings.right.url, error))
        }
      }

    const idOf = (stream: string): number | undefined =>
      statements.stream().get(stream)?.['id'] as number | undefined

    const countOf = (stream: string, type: string, through: number): number => {
      const id = idOf(stream)
      if (id === undefined) return 0
      if (type !== 'MessageAppended') return Number(statements.count().get(id, type, through)?.['n'])
      const last = Number(statements.last().get(id)?.['revision'] ?? -1)
      return Math.min(last, through) + 1 - Number(statements.others().get(id, through)?.['n'])
    }

    /** The position to read behind; undefined for a checkpoint that is none of this store. */
    const behind = (after: Checkpoint | undefined): number | undefined => {
      if (after === undefined) return 0
      const place = numbered(after)
      const event = place && statements.at().get(place.position)
      const isOurs = event && (place.mark === undefined || place.mark === markOf(event['id']))
      return isOurs ? place.position : undefined
    }

    const pageOf = ({ prefixes = [''], after, limit }: AllRange, from: number): AllPage => {
      const newest = Number(statements.newest().get()?.['position'] ?? 0)
      const until = Math.min(newest, from + window)
      const rows = statements.all().all(from, until, JSON.stringify(prefixes), limit)
      const events = rows.map((row) => recordedIn(row['stream'] as string)(row))
      if (events.length === limit || until <= from)
        return { events, checkpoint: events.at(-1)?.checkpoint ?? after }
      const last = statements.at().get(until)
      return { events, checkpoint: last ? checkpointOf(last) : after }
    }

    const readAll: EventStore['readAll'] = (range) =>
      pipe(
        reading(() => {
          const from = behind(range.after)
          return from === undefined
            ? E.left(noCheckpoint(settings.right.url, range.after))
            : E.right(pageOf(range, from))
        }),
        TE.flatMapEither((page: E.Either<StoreError | InvalidInput, AllPage>) => page),
      )

    return E.right({
      url: settings.right.url,
      append: (request) => () => {
        if (isClosed) return Promise.resolve(E.left(storeClosed(settings.right.url)))
        const checked = checkedAppend(request)
        return E.isLeft(checked) ? Promise.resolve(checked) : writer().append(checked.right)
      },
      read: ({ stream, from, direction, limit }) =>
        reading(() => {
          const id = idOf(stream)
          return id === undefined ? [] : statements[direction]().all(id, from, limit).map(recordedIn(stream))
        }),
      find: (stream, eventId) =>
        reading(() => {
          const id = idOf(stream)
          return id === undefined
            ? id
            : (statements.find().get(id, eventId)?.['revision'] as number | undefined)
        }),
      count: (stream, type, through) => reading(() => countOf(stream, type, through)),
      head: (stream) =>
        reading(() => {
          const { last, hash } = statements.stream().get(stream) ?? {}
          return typeof last === 'number' && typeof hash === 'string' ? { last, hash } : undefined
        }),
      streams: (prefix, after, limit) =>
        reading(() =>
          statements
            .streams()
            .all(after, prefix.length, prefix, limit)
            .map((row) => String(row['name'])),
        ),
      readAll,
      follow: (options) =>
        followReads({ readAll, pulse: changes, isClosed: () => isClosed, pollInterval }, options),
      blobs: sqliteBlobs(db, settings.right, () => isClosed),
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
          return E.left(storeError(settings.right.url, error))
        }
      },
    })
  }
