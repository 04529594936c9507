import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { DecodeFailed } from '../../events/errors.ts'
import { checkpointAt, markOf } from '../checkpoints.ts'
import type { Checkpoint, RecordedEvent } from '../port.ts'

/** A row of `events`: the values of `columns`, followed by the stream's name unless the reader already named the stream. */
export type EventRow = readonly SQLOutputValue[]

/**
 * Returns a function that reads all rows of a statement that selects `columns`. The rows are arrays, because reading objects takes a
 * third longer. If any row contains an integer too large for a number, all integers are read as bigints, so that the other rows remain
 * readable.
 */
export const rowReader =
  (prepared: () => StatementSync) =>
  (...parameters: readonly SQLInputValue[]): readonly EventRow[] => {
    const statement = prepared()
    statement.setReturnArrays(true)
    const rows = (asBigInts: boolean): readonly EventRow[] => {
      statement.setReadBigInts(asBigInts)
      const all: readonly unknown[] = statement.all(...parameters)
      return all as readonly EventRow[]
    }
    try {
      return rows(false)
    } catch (error) {
      if (Reflect.get(Object(error), 'code') !== 'ERR_OUT_OF_RANGE') throw error
      return rows(true)
    }
  }

export const columns = 'revision, position, e.id, type, data, metadata'
const names = ['revision', 'position', 'id', 'type', 'data', 'metadata', 'stream'] as const

/**
 * Converts rows to events. The tables are STRICT, so columns have their declared types. A damaged file, or one made by another program,
 * may still contain anything; an event with an impossible value is `DecodeFailed`.
 *
 * @param named name of the stream, for rows that do not contain it
 */
export const recordedEventsOf = (
  rows: readonly EventRow[],
  named?: string,
): E.Either<DecodeFailed, readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = []
  for (const row of rows) {
    // By index, because iterating over each row would take longer.
    const { 0: revision, 1: position, 2: id, 3: type, 4: data, 5: metadata, 6: stream = named } = row
    if (
      typeof data !== 'string' ||
      typeof metadata !== 'string' ||
      typeof id !== 'string' ||
      typeof type !== 'string' ||
      typeof stream !== 'string' ||
      !isCount(revision) ||
      !isCount(position)
    )
      return E.left(impossible([revision, position, id, type, data, metadata, stream]))
    const checkpoint = checkpointOf(position, id)
    events.push({ stream, revision: Number(revision), checkpoint, id, type, data, metadata })
  }
  return E.right(events)
}

/**
 * Returns the checkpoint of an event. The checkpoint includes part of the event's id, so that it is valid only in this store and in
 * copies and backups of the same events.
 */
export const checkpointOf = (position: unknown, id: unknown): Checkpoint =>
  checkpointAt(Number(position), markOf(id))

const impossible = (row: readonly unknown[]): DecodeFailed => {
  const [revision, position] = row
  const stream = row.at(-1)
  const wrong = names.filter((name, index) => {
    const isNumber = name === 'revision' || name === 'position'
    return isNumber ? !isCount(row[index]) : typeof row[index] !== 'string'
  })
  const name = typeof stream === 'string' ? `stream ${stream}` : 'a stream without a name'
  return {
    _tag: 'DecodeFailed',
    message: `event ${String(revision)} of ${name} cannot be read: the row at position ${String(position)} has an impossible ${wrong.join(', ')}; restore a backup`,
    stream: typeof stream === 'string' ? stream : '',
    revision: isCount(revision) ? Number(revision) : Number.MAX_SAFE_INTEGER,
  }
}

const isCount = (value: unknown): boolean =>
  (typeof value === 'number' || typeof value === 'bigint') &&
  Number.isSafeInteger(Number(value)) &&
  value >= 0
