import type { SQLOutputValue, StatementSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { DecodeFailed } from '../../events/errors.ts'
import { createLruCache } from '../lru.ts'
import type { FindResult, KeptEnd, StreamRange, RecordedEvent } from '../port.ts'
import { columns, recordedEventsOf, rowReader } from './rows.ts'

/** Number of characters of data after which a page ends. */
const pageLength = 256 * 1024
/** Maximum number of rows read at a time, because long rows may follow short ones. */
const mostRows = 256
/** Assumed length of a row before any row has been read, in characters. */
const longRow = pageLength / 32
/** Maximum size of an event's data that is read together with other streams, in bytes; longer data may take long for many streams. */
const longestAtOnce = 4 * 1024
/** Maximum number of ends of pages of stream names that are cached: the last name, with its row id. */
const maxEnds = 100
/** Maximum number of streams whose counts are cached. */
const maxCounted = 1_000
/** A value larger than any stream's id. */
const beyond = 2n ** 63n - 1n

/** Condition that selects the events of a stream by the stream's name. */
const named = 'stream = (SELECT id FROM streams WHERE name = ?)'

/** Reads of single streams and of stream names, as defined by the port. They throw the driver's errors. */
export interface StreamReads {
  readonly page: (range: StreamRange) => E.Either<DecodeFailed, readonly RecordedEvent[]>
  readonly find: (stream: string, eventId: string) => FindResult
  readonly count: (stream: string, type: string, through: number) => number
  readonly beginnings: (
    streams: readonly string[],
    limit: number,
  ) => ReadonlyMap<string, readonly RecordedEvent[]>
  readonly keptEnd: (stream: string) => KeptEnd | undefined
  readonly streams: (prefix: string, after: string, limit: number) => readonly string[]
  readonly newest: (
    prefixes: readonly string[],
    before: string | undefined,
    limit: number,
  ) => readonly string[]
}

/**
 * Creates the read operations of a database.
 *
 * @param prepared prepares a statement at its first use; the statement returns integers as bigint
 */
export const streamReads = (prepared: (sql: string) => () => StatementSync): StreamReads => {
  const statements = {
    stream: prepared('SELECT id, last, hash FROM streams WHERE name = ?'),
    forwards: rowReader(
      prepared(`SELECT ${columns} FROM events e WHERE ${named} AND revision >= ? ORDER BY revision LIMIT ?`),
    ),
    backwards: rowReader(
      prepared(
        `SELECT ${columns} FROM events e WHERE ${named} AND revision <= ? ORDER BY revision DESC LIMIT ?`,
      ),
    ),
    beginnings: rowReader(
      prepared(
        `SELECT revision, position, e.id, e.type, CASE WHEN octet_length(data) <= ?3 THEN data END, metadata, s.name
         FROM json_each(?1) j CROSS JOIN streams s ON s.name = j.value
         CROSS JOIN events e ON e.stream = s.id AND e.revision < ?2`,
      ),
    ),
    find: prepared('SELECT revision FROM events WHERE stream = ? AND id = ? AND findable = 1'),
    count: prepared(
      `SELECT count(*) AS n FROM events WHERE stream = ? AND type = ? AND revision <= ? AND type <> 'MessageAppended'`,
    ),
    // The plus keeps SQLite from using the index by revision, with which it would look up each message.
    others: prepared(
      `SELECT count(*) AS n FROM events WHERE stream = ? AND +revision <= ? AND type <> 'MessageAppended'`,
    ),
    newOthers: prepared(
      `SELECT count(*) AS n FROM events
       WHERE stream = ? AND revision > ? AND revision <= ? AND type <> 'MessageAppended'`,
    ),
    last: prepared('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1'),
    streams: prepared(
      'SELECT name FROM streams WHERE name > ? AND substr(name, 1, ?) = ? ORDER BY name LIMIT ?',
    ),
    newest: prepared(
      `SELECT id, name FROM streams WHERE id < ? AND EXISTS (
         SELECT 1 FROM json_each(?) p WHERE substr(name, 1, length(p.value)) = p.value
       ) ORDER BY id DESC LIMIT ?`,
    ),
  }

  /** Number of events other than messages up to and including revision `end`, by stream id. */
  const counted = createLruCache<{ readonly end: number; readonly others: number }>(maxCounted)

  const idOf = (stream: string): SQLOutputValue | undefined => statements.stream().get(stream)?.['id']
  const lastOf = (id: SQLOutputValue): number => Number(statements.last().get(id)?.['revision'] ?? -1)

  /** Average length of the rows read last, as an estimate for the next ones, in characters. */
  let rowLength = longRow

  /** Reads a page of events, limited to rows that can be read without blocking the process, in as few statements as possible. */
  const page: StreamReads['page'] = ({ stream, from, direction, limit }) => {
    const events: RecordedEvent[] = []
    let length = 0
    let next = from
    while (events.length < limit && length <= pageLength) {
      const fitting = Math.ceil((pageLength - length + 1) / rowLength)
      const wanted = Math.min(fitting, mostRows, limit - events.length)
      const read = recordedEventsOf(statements[direction](stream, next, wanted), stream)
      if (E.isLeft(read)) return read
      const before = length
      for (const event of read.right) {
        events.push(event)
        length += event.data.length
        next = event.revision + (direction === 'forwards' ? 1 : -1)
      }
      if (read.right.length > 0) rowLength = Math.max(1, (length - before) / read.right.length)
      if (read.right.length < wanted) break
    }
    return E.right(events)
  }

  const beginnings: StreamReads['beginnings'] = (names, limit) => {
    const begun = new Map<string, RecordedEvent[]>()
    const omitted = new Set<string>()
    for (const row of statements.beginnings(JSON.stringify(names), limit, longestAtOnce)) {
      const read = recordedEventsOf([row])
      const [event] = E.isRight(read) ? read.right : []
      const stream = event?.stream ?? String(row.at(-1))
      const events = begun.get(stream) ?? []
      if (event?.revision === events.length) begun.set(stream, [...events, event])
      else omitted.add(stream)
    }
    for (const stream of omitted) begun.delete(stream)
    return begun
  }

  const find: StreamReads['find'] = (stream, eventId) => {
    const id = idOf(stream)
    if (id === undefined) return { revision: undefined, through: -1 }
    const found = statements.find().get(id, eventId)?.['revision']
    return { revision: found === undefined ? undefined : Number(found), through: lastOf(id) }
  }

  const count: StreamReads['count'] = (stream, type, through) => {
    const id = idOf(stream)
    if (id === undefined) return 0
    if (type !== 'MessageAppended') return Number(statements.count().get(id, type, through)?.['n'])
    const end = Math.min(lastOf(id), through)
    return end + 1 - othersThrough(id, end)
  }

  /**
   * Returns the number of events other than messages up to and including revision `end`. Continues an earlier count if few events have
   * been appended since.
   */
  const othersThrough = (id: SQLOutputValue, end: number): number => {
    const before = counted.get(String(id))
    const isNear = before !== undefined && before.end <= end && end - before.end <= mostRows
    const row = isNear ? statements.newOthers().get(id, before.end, end) : statements.others().get(id, end)
    const others = Number(row?.['n']) + (isNear ? before.others : 0)
    counted.set(String(id), { end, others })
    return others
  }

  const keptEnd: StreamReads['keptEnd'] = (stream) => {
    const { last, hash } = statements.stream().get(stream) ?? {}
    return typeof last === 'bigint' && typeof hash === 'string' ? { last: Number(last), hash } : undefined
  }

  // A name that is not well-formed UTF-8 is decoded to another name; a page that starts after that name may return it again.
  const streams: StreamReads['streams'] = (prefix, after, limit) => {
    const start = Buffer.from(after)
    const rows = statements.streams().all(after, prefix.length, prefix, limit)
    return rows.map(({ name }) => String(name)).filter((name) => Buffer.compare(Buffer.from(name), start) > 0)
  }

  /**
   * Row ids of the last names of pages. They are needed because a name that is not well-formed UTF-8 cannot be looked up by its decoded
   * form.
   */
  const ends = createLruCache<SQLOutputValue>(maxEnds)
  const newest: StreamReads['newest'] = (prefixes, before, limit) => {
    const end = before === undefined ? beyond : (ends.get(before) ?? idOf(before))
    if (end === undefined) return []
    const rows = statements.newest().all(end, JSON.stringify(prefixes), limit)
    const last = rows.at(-1)
    if (last?.['id'] !== undefined) ends.set(String(last['name']), last['id'])
    return rows.map(({ name }) => String(name))
  }

  return { page, beginnings, find, count, keptEnd, streams, newest }
}
