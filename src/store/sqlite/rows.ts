import type { SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { DecodeFailed } from '../../events/errors.ts'
import { checkpointAt } from '../checkpoints.ts'
import type { Checkpoint, RecordedEvent } from '../port.ts'

/** A row of `events`: `columns`, followed by the stream's name unless the reader already named the stream. */
export type EventRow = readonly SQLOutputValue[]

/**
 * Reads all rows of a statement that selects these columns, as arrays: objects take a third longer. An integer too large for a number
 * must not make the other rows unreadable: if there is one, all integers are bigints.
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
 * Converts rows to events. The tables are STRICT, so columns have their declared types; but a damaged file, or one made by another
 * program, may contain anything. Then that event cannot be read.
 *
 * @param named the stream, for rows that do not name theirs
 */
export const recordedEventsOf = (
  rows: readonly EventRow[],
  named?: string,
): E.Either<DecodeFailed, readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = []
  for (const row of rows) {
    const [revision, position, id, type, data, metadata, stream = named] = row
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

/** Returns a checkpoint marked with the event's id, which only copies and backups of the same events share. */
export const checkpointOf = (position: unknown, id: unknown): Checkpoint =>
  checkpointAt(Number(position), markOf(id))
export const markOf = (id: unknown): string => String(id).slice(0, 8)

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
