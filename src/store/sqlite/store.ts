import type { SQLOutputValue } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { InvalidInput } from '../../events/errors.ts'
import { type StoreError, storeClosed } from '../errors.ts'
import { followReads } from '../follow.ts'
import type { AllRange, EventStore, RecordedEvent } from '../port.ts'
import { pulse } from '../pulse.ts'
import { storeError } from './errors.ts'
import { openDatabase, sqliteSettings } from './open.ts'
import { sqliteWriter } from './writer.ts'

/** How often followers look for writes of other processes, in milliseconds. */
const pollInterval = 50
/** Events that one read of everything looks through at most: a filter that matches nothing must not hold up the process. */
const window = 5_000

type Row = Record<string, SQLOutputValue>

const recorded = (row: Row): RecordedEvent => ({
  stream: String(row['stream']),
  revision: Number(row['revision']),
  checkpoint: String(row['position']),
  id: String(row['id']),
  type: String(row['type']),
  data: String(row['data']),
  metadata: String(row['metadata']),
})

const columns = 's.name AS stream, e.revision, e.position, e.id, e.type, e.data, e.metadata'
const from = 'FROM events e JOIN streams s ON s.id = e.stream'

/** Opens an SQLite file as a store: `sqlite:path/to/file.db`. Several processes may have it open at once. */
export const openSqlite =
  (url: string, create = true): TaskEither<StoreError | InvalidInput, EventStore> =>
  async () => {
    const settings = sqliteSettings(url)
    if (E.isLeft(settings)) return settings
    const opened = await openDatabase(settings.right, create)
    if (E.isLeft(opened)) return opened
    const db = opened.right
    const changes = pulse()
    const writer = sqliteWriter(db, settings.right, changes.beat)
    const statements = {
      forwards: db.prepare(
        `SELECT ${columns} ${from} WHERE s.name = ? AND revision >= ? ORDER BY revision LIMIT ?`,
      ),
      backwards: db.prepare(
        `SELECT ${columns} ${from} WHERE s.name = ? AND revision <= ? ORDER BY revision DESC LIMIT ?`,
      ),
      find: db.prepare(`SELECT e.revision ${from} WHERE e.id = ? AND s.name = ?`),
      count: db.prepare(`SELECT count(*) AS n ${from} WHERE s.name = ? AND e.type = ? AND e.revision <= ?`),
      others: db.prepare(
        `SELECT count(*) AS n ${from} WHERE s.name = ? AND e.revision <= ? AND e.type <> 'MessageAppended'`,
      ),
      head: db.prepare('SELECT last, hash FROM streams WHERE name = ?'),
      streams: db.prepare(
        'SELECT name FROM streams WHERE name > ? AND substr(name, 1, ?) = ? ORDER BY name LIMIT ?',
      ),
      newest: db.prepare('SELECT max(position) AS position FROM events'),
      all: db.prepare(
        `SELECT ${columns} ${from} WHERE e.position > ? AND e.position <= ? AND EXISTS (
           SELECT 1 FROM json_each(?) p WHERE substr(s.name, 1, length(p.value)) = p.value
         ) ORDER BY e.position LIMIT ?`,
      ),
    }
    let isClosed = false

    /** Reads never wait: in WAL mode a writer does not hold them up. */
    const reading =
      <A>(read: () => A): TaskEither<StoreError, A> =>
      async () => {
        if (isClosed) return E.left(storeClosed(settings.right.url))
        try {
          return E.right(read())
        } catch (error) {
          return E.left(storeError(settings.right.url, error))
        }
      }

    const countOf = (stream: string, type: string, through: number): number => {
      if (type !== 'MessageAppended') return Number(statements.count.get(stream, type, through)?.['n'])
      const last = Number(statements.head.get(stream)?.['last'] ?? -1)
      return Math.min(last, through) + 1 - Number(statements.others.get(stream, through)?.['n'])
    }

    const readAll: EventStore['readAll'] = ({ prefixes = [''], after, limit }: AllRange) =>
      reading(() => {
        const behind = Number(after ?? 0)
        const newest = Number(statements.newest.get()?.['position'] ?? 0)
        const until = Math.min(newest, behind + window)
        const events = statements.all.all(behind, until, JSON.stringify(prefixes), limit).map(recorded)
        const reached = events.length < limit ? until : Number(events.at(-1)?.checkpoint)
        return { events, checkpoint: reached > behind ? String(reached) : after }
      })

    return E.right({
      url: settings.right.url,
      append: (request) => async () =>
        isClosed ? E.left(storeClosed(settings.right.url)) : writer.append(request),
      read: ({ stream, from: revision, direction, limit }) =>
        reading(() => statements[direction].all(stream, revision, limit).map(recorded)),
      find: (stream, id) =>
        reading(() => {
          const row = statements.find.get(id, stream)
          return row && Number(row['revision'])
        }),
      count: (stream, type, through) => reading(() => countOf(stream, type, through)),
      head: (stream) =>
        reading(() => {
          const row = statements.head.get(stream)
          return row && { last: Number(row['last']), hash: String(row['hash']) }
        }),
      streams: (prefix, after, limit) =>
        reading(() =>
          statements.streams.all(after, prefix.length, prefix, limit).map((row) => String(row['name'])),
        ),
      readAll,
      follow: (options) =>
        followReads({ readAll, pulse: changes, isClosed: () => isClosed, pollInterval }, options),
      close: () => async () => {
        if (isClosed) return E.right(undefined)
        isClosed = true
        await writer.drain()
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
