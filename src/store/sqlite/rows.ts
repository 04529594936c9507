import type { SQLOutputValue } from 'node:sqlite'
import * as E from 'fp-ts/lib/Either.js'
import type { DecodeFailed } from '../../events/errors.ts'
import { checkpointAt } from '../checkpoints.ts'
import type { Checkpoint, RecordedEvent } from '../port.ts'

/** A row of `events`. Integers are bigints: one too large for a number must not keep a reader from the other rows. */
export type Row = Record<string, SQLOutputValue>

export const columns = 'revision, position, e.id AS id, type, data, metadata'
const texts = ['id', 'type', 'data', 'metadata'] as const

/**
 * Rows as events. The tables are STRICT, so columns have their declared types; but a damaged file, or one made by another program, may
 * contain anything. Then that event cannot be read.
 *
 * @param stream for rows that do not name theirs
 */
export const recorded = (
  rows: readonly Row[],
  stream?: string,
): E.Either<DecodeFailed, readonly RecordedEvent[]> => {
  const events: RecordedEvent[] = []
  for (const row of rows) {
    const problem = problemOf(row, stream)
    if (problem) return E.left(problem)
    events.push({
      stream: stream ?? (row['stream'] as string),
      revision: Number(row['revision']),
      checkpoint: checkpointOf(row),
      id: row['id'] as string,
      type: row['type'] as string,
      data: row['data'] as string,
      metadata: row['metadata'] as string,
    })
  }
  return E.right(events)
}

/** Marked with the event's id, which copies and backups of the same events share, and no other store. */
export const checkpointOf = ({ position, id }: Row): Checkpoint => checkpointAt(Number(position), markOf(id))
export const markOf = (id: unknown): string => String(id).slice(0, 8)

const problemOf = (row: Row, stream = row['stream']): DecodeFailed | undefined => {
  const { revision, position, id, type, data, metadata } = row
  if (
    typeof data === 'string' &&
    typeof metadata === 'string' &&
    typeof id === 'string' &&
    typeof type === 'string' &&
    typeof stream === 'string' &&
    isCount(revision) &&
    isCount(position)
  )
    return undefined
  const wrong = [
    ...(typeof stream === 'string' ? [] : ['stream']),
    ...(isCount(revision) ? [] : ['revision']),
    ...(isCount(position) ? [] : ['position']),
    ...texts.filter((name) => typeof row[name] !== 'string'),
  ]
  const name = typeof stream === 'string' ? `stream ${stream}` : 'a stream without a name'
  return {
    _tag: 'DecodeFailed',
    message: `event ${String(revision)} of ${name} cannot be read: the row at position ${String(position)} has an impossible ${wrong.join(', ')}; restore a backup`,
    stream: typeof stream === 'string' ? stream : '',
    revision: isCount(revision) ? Number(revision) : Number.MAX_SAFE_INTEGER,
  }
}

const isCount = (value: unknown): boolean =>
  typeof value === 'bigint' && value >= 0n && Number.isSafeInteger(Number(value))
