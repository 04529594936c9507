import type { DatabaseSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import { hashOf, type StoredEvent } from '../../events/codec.ts'
import { parseCheckpoint } from '../checkpoints.ts'
import { type Conflict, conflict, type StoreError } from '../errors.ts'
import { createLruCache } from '../lru.ts'
import type { AppendRequest, AppendOutcome, EventReplacement, UnwrittenStreams } from '../port.ts'

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
  /** Records the new end of a stream, given by its id, once the events of an append are committed. */
  readonly note: (request: AppendRequest, id: number) => void
  readonly ends: Omit<StreamEnds, 'note' | 'replace'>
}

const written: SqliteAppendResult = E.right('written')
const maxStreams = 10_000

/**
 * Prepares the statements that append events and record the ends of streams.
 *
 * @param ride function called when the next transaction should write the ends
 * @param due function called when the ends should be written at once, because nothing was appended in the meantime or too many ends are
 * waiting
 */
export const appendStatements = (db: DatabaseSync, ride: () => void, due: () => void): AppendStatements => {
  const statements = {
    stream: db.prepare('SELECT id FROM streams WHERE name = ?'),
    create: db.prepare('INSERT INTO streams (name) VALUES (?) RETURNING id'),
    last: db.prepare('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1'),
    insert: db.prepare(
      `INSERT INTO events (stream, revision, id, type, data, metadata, findable) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (stream, revision) DO NOTHING`,
    ),
    idAt: db.prepare('SELECT id FROM events WHERE stream = ? AND revision = ?'),
    replace: db.prepare('UPDATE events SET data = ?, metadata = ? WHERE stream = ? AND revision = ?'),
    since: db.prepare(
      `SELECT 1 FROM streams WHERE id IN (SELECT stream FROM events WHERE position > ?)
       AND substr(name, 1, length(?)) = ? LIMIT 1`,
    ),
    end: db.prepare('UPDATE streams SET hash = ? WHERE id = ? AND last = ?'),
  }
  // A revision that is too large for a number must fail only the appends to its own stream, not the whole transaction.
  statements.last.setReadBigInts(true)
  const streams = createLruCache<Known>(maxStreams)
  const ends = streamEnds(db, ride, due)

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

  const replace = ({ stream, revision, event }: EventReplacement): void => {
    const id = idOf(stream)
    if (id === undefined) return
    statements.replace.run(event.data, event.metadata, id, revision)
    // If content was outside the event, the recorded hash is the hash of the event without it.
    statements.end.run(hashOf(event), id, revision)
    ends.replace(id, revision, event)
  }

  const lastIn = (id: number | undefined): number =>
    id === undefined ? -1 : Number(statements.last.get(id)?.['revision'] ?? -1)

  const isUnwritten = ({ prefix, since }: UnwrittenStreams): boolean =>
    statements.since.get(parseCheckpoint(since)?.position ?? 0, prefix, prefix) === undefined

  const write = (request: AppendRequest): AppendAttempt => {
    const { stream, expected, unchanged = [], unwritten } = request
    for (const { stream: other, expected: read } of unchanged) {
      const last = lastIn(idOf(other))
      if (last !== read) return { outcome: E.left(conflict(other, read, last)) }
    }
    if (unwritten && !isUnwritten(unwritten)) return { outcome: E.left(conflict(stream, expected, expected)) }
    const known = streams.get(stream)
    // Events are never removed, so a revision that was seen still exists; the index shows whether another writer has the next one.
    const next = known?.last === expected ? insert(known.id, request) : undefined
    if (next !== undefined) request.replaces?.forEach(replace)
    if (known && next !== undefined) return { outcome: written, id: known.id, position: next }
    const found = known?.id ?? idOf(stream)
    const last = lastIn(found)
    if (last !== expected) {
      const isDone = found !== undefined && isRepeat(found, request)
      if (isDone) request.replaces?.forEach(replace)
      return { outcome: isDone ? E.right('repeated') : E.left(conflict(stream, expected, last)) }
    }
    const id = found ?? Number(statements.create.get(stream)?.['id'])
    const position = insert(id, request)
    request.replaces?.forEach(replace)
    return { outcome: written, id, ...(position !== undefined && { position }) }
  }

  const note = ({ stream, events, expected }: AppendRequest, id: number): void => {
    const last = expected + events.length
    const known = streams.get(stream)
    if (known) known.last = last
    else streams.set(stream, { id, last })
    const event = events.at(-1)
    if (event) ends.note(id, last, event)
  }

  return { write, note, ends }
}

/** Interval at which the ends of streams are written during appends, in milliseconds. */
const interval = 100
/** Number of streams with unwritten ends that causes all ends to be written at once. */
const mostWaiting = 1_000

/** Recorder of the ends of the streams to which this process has appended. */
interface StreamEnds {
  /** Records the last committed event of a stream as the stream's end, to be written later. */
  readonly note: (stream: number, revision: number, event: StoredEvent) => void
  /** Replaces the event of a waiting end, if it is the one at this revision. */
  readonly replace: (stream: number, revision: number, event: StoredEvent) => void
  /** Writes the waiting ends inside the current transaction. */
  readonly write: () => void
  readonly areWaiting: () => boolean
  readonly stop: () => void
}

/**
 * Creates a recorder that writes the ends of streams ten times a second and on closing. Writing an end in every transaction would cost
 * each append one more page. The ends are written with the next append, because with a separate transaction, every writer would have to
 * wait for the disk once more. A process that is killed leaves the ends recorded earlier, which are still valid.
 */
const streamEnds = (db: DatabaseSync, ride: () => void, due: () => void): StreamEnds => {
  const update = db.prepare('UPDATE streams SET last = ?1, hash = ?2 WHERE id = ?3 AND ifnull(last, -1) < ?1')
  const waiting = new Map<number, { readonly revision: number; readonly event: StoredEvent }>()
  let timer: NodeJS.Timeout | undefined
  let isRiding = false
  const tick = (): void => {
    timer = undefined
    if (waiting.size === 0) return
    if (isRiding) return due()
    isRiding = true
    ride()
    start()
  }
  const start = (): void => {
    timer ??= setTimeout(tick, interval).unref()
  }
  return {
    note: (stream, revision, event) => {
      waiting.set(stream, { revision, event })
      if (waiting.size >= mostWaiting) due()
      start()
    },
    replace: (stream, revision, event) => {
      if (waiting.get(stream)?.revision === revision) waiting.set(stream, { revision, event })
    },
    write: () => {
      for (const [stream, { revision, event }] of waiting) update.run(revision, hashOf(event), stream)
      waiting.clear()
      isRiding = false
    },
    areWaiting: () => waiting.size > 0,
    stop: () => clearTimeout(timer),
  }
}
