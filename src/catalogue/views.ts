import type { DatabaseSync } from 'node:sqlite'
import type { EventKind } from '../projections/columns.ts'
import type { Hit, Visibility } from '../projections/lookups.ts'
import { type Part, partsOf } from './lineage.ts'
import type { Rows } from './rows.ts'
import { type Mark, stateAt, turningsOf } from './states.ts'
import { placeIn, type ThreadRow } from './thread.ts'

/** A conversation, to be looked at from several positions. */
export interface View {
  readonly statesOf: (entry: number) => Pick<Hit, 'now' | 'then'>
  readonly kindAt: (position: number) => EventKind
}

/** @param row as far as is to be looked at */
export const viewIn = (db: DatabaseSync, rows: Rows, row: ThreadRow): View => {
  const parts = partsOf(rows, row)
  const turnings = turningsOf(parts.flatMap((part) => marksIn(db, part)))
  return {
    statesOf: (entry) => {
      const reply = replyAfter(rows, parts, entry)
      const state = (at: number): Visibility => stateAt(turnings, entry, at)
      return { now: state(row.last), then: state(reply === undefined ? row.last : reply - 1) }
    },
    kindAt: (position) => {
      const part = parts.find(({ last }) => position <= last)
      if (!part) return '-'
      const { number, index } = placeIn(part.row, position)
      return rows.chunks(part.row, number, number)[0]?.columns.kindAt(index) ?? '-'
    },
  }
}

const marksIn = (db: DatabaseSync, { row: { n }, last: end }: Part): readonly Mark[] =>
  db
    .prepare(
      `SELECT position, kind, target, first, last, tally IS NOT NULL AS hides FROM marks
       WHERE thread = ? AND position <= ? ORDER BY position`,
    )
    .all(n, end)
    .map(({ position, kind, target, first, last, hides }) => ({
      position: Number(position),
      kind: String(kind) as EventKind,
      target: Number(target),
      covers: hides ? { first: Number(first), last: Number(last) } : undefined,
    }))

/** The first reply of the model after a position. */
const replyAfter = (rows: Rows, parts: readonly Part[], position: number): number | undefined => {
  for (const { row, last } of parts) {
    if (last <= position) continue
    const first = Math.max(row.from, position + 1)
    for (let number = placeIn(row, first).number; number <= placeIn(row, last).number; number++)
      for (const { start, columns } of rows.chunks(row, number, number))
        for (let index = Math.max(0, first - start); index < columns.count && start + index <= last; index++)
          if ('ac'.includes(columns.kindAt(index))) return start + index
  }
  return undefined
}
