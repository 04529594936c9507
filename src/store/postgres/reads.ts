import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../../events/errors.ts'
import { checkpointAt, markOf, noCheckpoint, parseCheckpoint } from '../checkpoints.ts'
import type { AllRange, Checkpoint, FindResult, RecordedEvent, StreamChanges, StreamRange } from '../port.ts'
import type { TailPage } from '../tail.ts'
import type { QueryRow, DatabaseSession } from './session.ts'
import type { PostgresSettings } from './settings.ts'

/** Bytes of data after which a page ends. */
const pageBytes = 256 * 1024
/** Bytes of data after which a read across all streams ends. */
const mostBytes = 4 * pageBytes
/** Maximum number of events that one read across all streams searches. */
const window = 5_000
/** Maximum size of an event's data that is read together with other streams, in bytes. */
const longestAtOnce = 4 * 1024

const columns = 'e.revision, e.position, e.id, e.type, e.data, e.metadata'

/** A read of the store: takes a session, and throws the driver's errors. */
export type SessionRead<A> = (session: DatabaseSession) => Promise<A>

/** Reads of streams, of stream names and of all events, as defined by the port. Each is one statement, and so sees one moment. */
export interface PostgresReads {
  readonly page: (range: StreamRange) => SessionRead<readonly RecordedEvent[]>
  readonly beginnings: (
    streams: readonly string[],
    limit: number,
  ) => SessionRead<ReadonlyMap<string, readonly RecordedEvent[]>>
  readonly find: (stream: string, eventId: string) => SessionRead<FindResult>
  readonly count: (stream: string, type: string, through: number) => SessionRead<number>
  readonly streams: (prefix: string, after: string, limit: number) => SessionRead<readonly string[]>
  readonly newest: (
    prefixes: readonly string[],
    before: string | undefined,
    limit: number,
  ) => SessionRead<readonly string[]>
  readonly all: (range: AllRange) => SessionRead<E.Either<InvalidInput, TailPage>>
  readonly changed: (prefix: string, since: Checkpoint | undefined) => SessionRead<StreamChanges>
}

/** Creates the read operations of a store. */
export const postgresReads = ({ url, schema }: PostgresSettings): PostgresReads => {
  const idOf = (parameter: string): string =>
    `(SELECT s.id FROM ${schema}.streams s WHERE s.name = ${parameter})`

  const pageSql = (direction: StreamRange['direction']): string => {
    const [compare, order] = direction === 'forwards' ? ['>=', ''] : ['<=', 'DESC']
    return `SELECT ${columns} FROM (
        SELECT e.*, sum(octet_length(e.data)) OVER (ORDER BY e.revision ${order}) - octet_length(e.data) AS before
        FROM ${schema}.events e WHERE e.stream = ${idOf('$1')} AND e.revision ${compare} $2
        ORDER BY e.revision ${order} LIMIT $3
      ) e WHERE e.before < ${pageBytes} ORDER BY e.revision ${order}`
  }
  const pages = { forwards: pageSql('forwards'), backwards: pageSql('backwards') }

  const hasPrefix = (parameter: string): string =>
    `EXISTS (SELECT FROM unnest(${parameter}::text[]) p WHERE starts_with(s.name, p))`

  /** Joins the stream of each event as `s`. OFFSET 0 keeps the planner from reading all streams of the store for a few events. */
  const nameOf = (event: string): string =>
    `CROSS JOIN LATERAL (SELECT s.name FROM ${schema}.streams s WHERE s.id = ${event}.stream OFFSET 0) s`

  // The last position that a read searches: after removed events, the next one however far it is.
  const searched = `greatest($1::bigint + ${window},
    (SELECT e.position FROM ${schema}.events e WHERE e.position > $1 ORDER BY e.position LIMIT 1))`
  const untilOf = (column: string): string =>
    `(SELECT e.${column} FROM ${schema}.events e WHERE e.position > $1 AND e.position <= ${searched}
      ORDER BY e.position DESC LIMIT 1)`
  // The server does not sort: beginning to sort takes it several times as long as the rest. No value depends on another row's.
  const allSql = `
    SELECT a.start, a.last, a.until, a.until_id, e.*
    FROM (
      SELECT (SELECT e.id FROM ${schema}.events e WHERE e.position = $1) AS start,
        (SELECT e.position FROM ${schema}.events e ORDER BY e.position DESC LIMIT 1) AS last,
        ${untilOf('position')} AS until, ${untilOf('id')} AS until_id
    ) a
    LEFT JOIN (
      SELECT ${columns}, s.name, octet_length(e.data) AS bytes,
        sum(octet_length(e.data)) OVER (ORDER BY e.position) AS through
      FROM ${schema}.events e ${nameOf('e')}
      WHERE e.position > $1 AND e.position <= ${searched} AND ${hasPrefix('$2')} ORDER BY e.position LIMIT $3
    ) e ON e.through - e.bytes < ${mostBytes}`

  const all: PostgresReads['all'] =
    ({ prefixes = [''], after, limit }) =>
    async ({ query }) => {
      const from = after === undefined ? { position: 0, mark: undefined } : parseCheckpoint(after)
      if (!from) return E.left(noCheckpoint(url, after))
      const read = await query(allSql, [from.position, prefixes.filter(isStorable), limit], 'all')
      const rows = read.toSorted((one, other) => Number(one['position']) - Number(other['position']))
      const { start, last, until, until_id: untilId } = rows[0] ?? {}
      const isOurs = after === undefined || (start !== null && from.mark === markOf(start))
      if (!isOurs) return E.left(noCheckpoint(url, after))
      const events = rows.flatMap((row) => (row['position'] === null ? [] : [recordedEvent(row)]))
      // As many as were asked for, or as many as are not too large together: more may follow within what was searched.
      const isCut = events.length === limit || Number(rows.at(-1)?.['through'] ?? 0) >= mostBytes
      const end = until === null ? after : checkpointAt(Number(until), markOf(untilId))
      return E.right({
        events,
        checkpoint: isCut ? events.at(-1)?.checkpoint : end,
        isEnd: !isCut && (until === null || until === last),
      })
    }

  const changedSql = `
    SELECT e.position, e.id, (SELECT f.id FROM ${schema}.events f WHERE f.position = $1) AS start,
      CASE WHEN e.position - $1 <= ${window} THEN ARRAY(
        SELECT DISTINCT s.name FROM ${schema}.events f ${nameOf('f')}
        WHERE f.position > $1 AND f.position <= $1 + ${window} AND starts_with(s.name, $2)
      ) END AS names
    FROM ${schema}.events e ORDER BY e.position DESC LIMIT 1`

  const changed: PostgresReads['changed'] =
    (prefix, since) =>
    async ({ query }) => {
      const from = parseCheckpoint(since)
      const [row] = await query(
        changedSql,
        [from?.position ?? null, isStorable(prefix) ? prefix : '\u{10ffff}'],
        'changed',
      )
      if (!row) return { checkpoint: undefined, streams: undefined }
      const checkpoint = checkpointAt(Number(row['position']), markOf(row['id']))
      const isOurs = from && row['start'] !== null && from.mark === markOf(row['start'])
      const names = isOurs ? row['names'] : undefined
      return { checkpoint, streams: Array.isArray(names) ? new Set(names.map(String)) : undefined }
    }

  return {
    page:
      ({ stream, from, direction, limit }) =>
      async ({ query }) => {
        if (!isStorable(stream)) return []
        const rows = await query(pages[direction], [stream, from, limit], direction)
        return rows.map((row) => recordedEvent(row, stream))
      },
    beginnings:
      (streams, limit) =>
      async ({ query }) => {
        const begun = new Map<string, RecordedEvent[]>()
        const omitted = new Set<string>()
        const rows = await query(
          `SELECT e.revision, e.position, e.id, e.type, e.metadata, s.name,
             CASE WHEN octet_length(e.data) <= ${longestAtOnce} THEN e.data END AS data
           FROM unnest($1::text[]) n (name) JOIN ${schema}.streams s ON s.name = n.name
           JOIN ${schema}.events e ON e.stream = s.id AND e.revision < $2 ORDER BY e.stream, e.revision`,
          [streams.filter(isStorable), limit],
          'beginnings',
        )
        for (const row of rows) {
          const name = String(row['name'])
          if (row['data'] === null) omitted.add(name)
          else begun.set(name, [...(begun.get(name) ?? []), recordedEvent(row)])
        }
        for (const name of omitted) begun.delete(name)
        return begun
      },
    find:
      (stream, eventId) =>
      async ({ query }) => {
        if (!isStorable(stream) || !isStorable(eventId)) return { revision: undefined, through: -1 }
        const [row = {}] = await query(
          `SELECT (SELECT e.revision FROM ${schema}.events e WHERE e.stream = i.id AND e.id = $2 AND e.findable LIMIT 1) AS found,
             (SELECT e.revision FROM ${schema}.events e WHERE e.stream = i.id ORDER BY e.revision DESC LIMIT 1) AS last
           FROM (SELECT ${idOf('$1')} AS id) i`,
          [stream, eventId],
          'find',
        )
        return { revision: numberIn(row['found']), through: numberIn(row['last']) ?? -1 }
      },
    count:
      (stream, type, through) =>
      async ({ query }) => {
        if (!isStorable(stream) || !isStorable(type)) return 0
        const isMessage = type === 'MessageAppended'
        // The condition about messages is the one of the index, so that only the index is read.
        const [row = {}] = await query(
          `SELECT count(*) AS n, (
             SELECT e.revision FROM ${schema}.events e WHERE e.stream = ${idOf('$1')} ORDER BY e.revision DESC LIMIT 1
           ) AS last FROM ${schema}.events e
           WHERE e.stream = ${idOf('$1')} AND e.revision <= $2 AND e.type <> 'MessageAppended' ${isMessage ? '' : 'AND e.type = $3'}`,
          [stream, through, ...(isMessage ? [] : [type])],
          isMessage ? 'others' : 'count',
        )
        const counted = Number(row['n'])
        return isMessage ? Math.min(numberIn(row['last']) ?? -1, through) + 1 - counted : counted
      },
    streams:
      (prefix, after, limit) =>
      async ({ query }) => {
        if (!isStorable(prefix) || !isStorable(after)) return []
        const bound = boundOf(prefix)
        const rows = await query(
          `SELECT s.name FROM ${schema}.streams s WHERE s.name > $1 AND s.name >= $2 ${
            bound === undefined ? '' : 'AND s.name < $4'
          } ORDER BY s.name LIMIT $3`,
          [after, prefix, limit, ...(bound === undefined ? [] : [bound])],
          bound === undefined ? 'streams' : 'streams_before',
        )
        return rows.map(({ name }) => String(name))
      },
    newest:
      (prefixes, before, limit) =>
      async ({ query }) => {
        if (before !== undefined && !isStorable(before)) return []
        const rows = await query(
          `SELECT s.name FROM ${schema}.streams s WHERE ${hasPrefix('$1')} ${
            before === undefined ? '' : `AND s.id < (SELECT b.id FROM ${schema}.streams b WHERE b.name = $3)`
          } ORDER BY s.id DESC LIMIT $2`,
          [prefixes.filter(isStorable), limit, ...(before === undefined ? [] : [before])],
          before === undefined ? 'newest' : 'newest_before',
        )
        return rows.map(({ name }) => String(name))
      },
    all,
    changed,
  }
}

/** Reports whether the database can hold a text. No stream or event has another name. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

const numberIn = (value: unknown): number | undefined =>
  value === null || value === undefined ? undefined : Number(value)

const recordedEvent = (
  { revision, position, id, type, data, metadata, name }: QueryRow,
  stream = String(name),
): RecordedEvent => ({
  stream,
  revision: Number(revision),
  checkpoint: checkpointAt(Number(position), markOf(id)),
  id: String(id),
  type: String(type),
  data: String(data),
  metadata: String(metadata),
})

/** Returns the first name in the order of UTF-8 bytes after all names with a prefix; undefined if there is none. */
const boundOf = (prefix: string): string | undefined => {
  const points = Array.from(prefix)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0
    // A surrogate is not a character by itself.
    if (point < 0x10ffff) return points.join('') + String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1)
  }
  return undefined
}
