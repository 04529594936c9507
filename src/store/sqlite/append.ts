import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { type Conflict, conflict, type StoreError } from '../errors.ts'
import { createLruCache } from '../lru.ts'
import type { AppendRequest, AppendOutcome } from '../port.ts'

export type SqliteAppendResult = E.Either<StoreError | Conflict, AppendOutcome>

/** A stream to which this process has written. */
interface Known {
  readonly id: number
  /** Last known revision of the stream; another process may have appended since. */
  last: number
}

/** Result of an append within a transaction; `id` is the id of the stream, present only if the append wrote events. */
export interface AppendAttempt {
  readonly outcome: SqliteAppendResult
  readonly id?: number
  /** Global position of the append's last event; absent if the append wrote no events. */
  readonly position?: number
}

export interface AppendStatements {
  /** Writes the events of an append inside the current transaction. Throws the driver's errors. */
  readonly write: (request: AppendRequest) => AppendAttempt
  /** Records the last revision of a stream once its events are committed. */
  readonly note: (stream: string, id: number, last: number) => void
}

const written: SqliteAppendResult = E.right('written')
const maxStreams = 10_000

export const appendStatements = (db: DatabaseSync): AppendStatements => {
  const statements = {
    stream: db.prepare('SELECT id FROM streams WHERE name = ?'),
    create: db.prepare('INSERT INTO streams (name) VALUES (?) RETURNING id'),
    last: db.prepare('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1'),
    insert: db.prepare(
      `INSERT INTO events (stream, revision, id, type, data, metadata, findable) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (stream, revision) DO NOTHING`,
    ),
    idAt: db.prepare('SELECT id FROM events WHERE stream = ? AND revision = ?'),
  }
  // A revision that is too large for a number must fail only the appends to its own stream, not the whole transaction.
  statements.last.setReadBigInts(true)
  const streams = createLruCache<Known>(maxStreams)

  const isRepeat = (stream: number, { events, expected }: AppendRequest): boolean =>
    events.every((event, index) => statements.idAt.get(stream, expected + 1 + index)?.['id'] === event.id)

  const idOf = (stream: string): number | undefined => {
    const row = statements.stream.get(stream)
    return row && Number(row['id'])
  }

  /** Inserts the events and returns the global position of the last one; undefined if another writer's event has the first revision. */
  const insert = (id: number, { events, expected, repeat = 'none' }: AppendRequest): number | undefined => {
    let position: number | undefined
    let revision = expected
    for (const { id: event, type, data, metadata } of events) {
      const mark = repeat === 'each' || (repeat !== 'none' && revision === expected) ? 1 : null
      const inserted = statements.insert.run(id, ++revision, event, type, data, metadata, mark)
      if (inserted.changes !== 1) return undefined
      position = Number(inserted.lastInsertRowid)
    }
    return position
  }

  const write = (request: AppendRequest): AppendAttempt => {
    const { stream, expected } = request
    const known = streams.get(stream)
    // Events are never removed, so a revision that was seen still exists; the index shows whether another writer has the next one.
    const next = known?.last === expected ? insert(known.id, request) : undefined
    if (known && next !== undefined) return { outcome: written, id: known.id, position: next }
    const found = known?.id ?? idOf(stream)
    const last = found === undefined ? -1 : Number(statements.last.get(found)?.['revision'] ?? -1)
    if (last !== expected) {
      const isDone = found !== undefined && isRepeat(found, request)
      return { outcome: isDone ? E.right('repeated') : E.left(conflict(stream, expected, last)) }
    }
    const id = found ?? Number(statements.create.get(stream)?.['id'])
    const position = insert(id, request)
    return { outcome: written, id, ...(position !== undefined && { position }) }
  }

  const note = (stream: string, id: number, last: number): void => {
    const known = streams.get(stream)
    if (known) known.last = last
    else streams.set(stream, { id, last })
  }

  return { write, note }
}
