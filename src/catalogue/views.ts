import type { DatabaseSync } from 'node:sqlite'
import type { EventKind } from '../projections/columns.ts'
import type { Fate, Status } from '../projections/full.ts'
import type { Hit, Visibility } from '../projections/lookups.ts'
import { isMessage } from './facts.ts'
import { type Part, partsOf } from './lineage.ts'
import type { Chunk, Rows } from './rows.ts'
import { type Mark, stateAt, turningsOf } from './states.ts'
import { placeIn, type ThreadRow } from './thread.ts'

/** A conversation, to be looked at from several positions. */
export interface View {
  readonly statesOf: (entry: number) => Pick<Hit, 'now' | 'then'>
  readonly stateAt: (entry: number, at: number) => Visibility
  readonly kindAt: (position: number) => EventKind
}

/** @param row as far as is to be looked at */
export const viewIn = (db: DatabaseSync, rows: Rows, row: ThreadRow): View => {
  const parts = partsOf(rows, row)
  const turnings = turningsOf(parts.flatMap((part) => marksIn(db, part)))
  /** Whoever asks of many positions asks of those beside each other. */
  const read = new Map<string, Chunk>()
  const stateIn: View['stateAt'] = (entry, at) => stateAt(turnings, entry, at)
  return {
    stateAt: stateIn,
    statesOf: (entry) => {
      const reply = replyAfter(rows, parts, entry)
      return {
        now: stateIn(entry, row.last),
        then: stateIn(entry, reply === undefined ? row.last : reply - 1),
      }
    },
    kindAt: (position) => {
      const part = parts.find(({ last }) => position <= last)
      if (!part) return '-'
      const { number, index } = placeIn(part.row, position)
      const name = `${part.row.n} ${number}`
      const chunk = read.get(name) ?? rows.chunks(part.row, number, number)[0]
      if (chunk) read.set(name, chunk)
      return chunk?.columns.kindAt(index) ?? '-'
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

const isEntry = (kind: EventKind): boolean => isMessage(kind) || kind === 'C' || kind === 'T'
const statuses: Readonly<Partial<Record<EventKind, Status>>> = {
  C: 'condensed',
  T: 'truncated',
  R: 'restored',
}

/** What became of an entry by a position, as the full history there says it; undefined for what is not an entry. */
export const fateIn = ({ stateAt: at, kindAt }: View, entry: number, position: number): Fate | undefined => {
  if (!isEntry(kindAt(entry))) return undefined
  const seen = at(entry, position)
  if (seen.state === 'shown') return { status: 'active' }
  const { state, by } = seen
  const status = state === 'abandoned' ? state : statuses[kindAt(by)]
  // A marker that hides nothing is said to be hidden by itself.
  return status && by !== entry ? { status, by } : undefined
}
