import type { StatementSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../../events/errors.ts'
import { markOf, noCheckpoint, parseCheckpoint } from '../checkpoints.ts'
import type { StoreError } from '../errors.ts'
import type { AllRange, StreamChanges, Checkpoint } from '../port.ts'
import type { TailPage } from '../tail.ts'
import { checkpointOf, columns, recordedEventsOf, rowReader } from './rows.ts'

/**
 * Maximum number of events that one read across all streams searches. It is limited because a filter that matches nothing must not
 * block the process.
 */
const window = 5_000

/** Reader of events across all streams. */
interface AllReader {
  /** Reads a page of events. Events whose stream has no name are included only if all streams are requested. */
  readonly page: (range: AllRange) => E.Either<StoreError | InvalidInput, TailPage>
  readonly changed: (prefix: string, since: Checkpoint | undefined) => StreamChanges
}

export const allReader = (url: string, prepared: (sql: string) => () => StatementSync): AllReader => {
  const statements = {
    next: prepared('SELECT min(position) AS position FROM events WHERE position > ?'),
    last: prepared('SELECT max(position) AS position FROM events WHERE position <= ?'),
    at: prepared('SELECT position, id FROM events WHERE position = ?'),
    newest: prepared('SELECT position, id FROM events ORDER BY position DESC LIMIT 1'),
    changed: prepared('SELECT name FROM streams WHERE id IN (SELECT stream FROM events WHERE position > ?)'),
    all: rowReader(
      prepared(
        `SELECT ${columns}, s.name FROM events e LEFT JOIN streams s ON s.id = e.stream
         WHERE position > ? AND position <= ? AND EXISTS (
           SELECT 1 FROM json_each(?) p WHERE p.value = '' OR substr(s.name, 1, length(p.value)) = p.value
         ) ORDER BY position LIMIT ?`,
      ),
    ),
  }

  /** Returns the position after which to read; undefined for a checkpoint from another store. */
  const startOf = (after: Checkpoint | undefined): number | undefined => {
    if (after === undefined) return 0
    const place = parseCheckpoint(after)
    const event = place && statements.at().get(place.position)
    const isOurs = event && (place.mark === undefined || place.mark === markOf(event['id']))
    return isOurs ? place.position : undefined
  }

  /** Returns the last position to search. In a file that was tampered with, positions may have gaps. */
  const untilOf = (from: number): bigint => {
    const next = statements.next().get(from)?.['position']
    if (typeof next !== 'bigint') return BigInt(from)
    if (next > Number.MAX_SAFE_INTEGER) return next
    const last = statements.last().get(next - 1n + BigInt(window))?.['position']
    return typeof last === 'bigint' ? last : next
  }

  const changed: AllReader['changed'] = (prefix, since) => {
    const newest = statements.newest().get()
    const checkpoint = newest && checkpointOf(newest['position'], newest['id'])
    const from = since === undefined ? undefined : startOf(since)
    if (from === undefined || Number(newest?.['position'] ?? 0) - from > window)
      return { checkpoint, streams: undefined }
    const names = statements.changed().all(from)
    return {
      checkpoint,
      streams: new Set(names.map(({ name }) => String(name)).filter((name) => name.startsWith(prefix))),
    }
  }

  const page: AllReader['page'] = ({ prefixes = [''], after, limit }) => {
    const from = startOf(after)
    if (from === undefined) return E.left(noCheckpoint(url, after))
    const until = untilOf(from)
    const read = recordedEventsOf(statements.all(from, until, JSON.stringify(prefixes), limit))
    if (E.isLeft(read)) return read
    const events = read.right
    const isEnd = events.length < limit && typeof statements.next().get(until)?.['position'] !== 'bigint'
    if (events.length === limit || until <= from)
      return E.right({ events, checkpoint: events.at(-1)?.checkpoint ?? after, isEnd })
    const last = statements.at().get(until)
    return E.right({ events, checkpoint: last ? checkpointOf(last['position'], last['id']) : after, isEnd })
  }

  return { page, changed }
}
