import type { DatabaseSync } from 'node:sqlite'
import type { EventKind } from '../projections/columns.ts'
import type { EntryState, EntryStatus } from '../projections/full.ts'
import type { MessageHit, EntryVisibility } from '../projections/lookups.ts'
import { breath } from '../store/breath.ts'
import { isMessage } from './facts.ts'
import type { Feed } from './feed.ts'
import { type LineagePart, partsOf } from './lineage.ts'
import type { Chunk, ConversationTable } from './rows.ts'
import { type IndexedChange, stateAt, turner, type HistoryChange } from './states.ts'
import { placeIn, type ConversationRow } from './conversation-row.ts'

/** Lookup of the visibility of a conversation's entries at any of its positions. */
export interface VisibilityLookup {
  readonly statesOf: (entry: number) => Pick<MessageHit, 'now' | 'then'>
  readonly stateAt: (entry: number, at: number) => EntryVisibility
  readonly kindAt: (position: number) => EventKind
}

/** Number of rows of `marks` read in one step. */
const atOnce = 1_000

/**
 * Creates a visibility lookup for a conversation.
 *
 * @param row the conversation; `last` is the last position to consider
 */
export const viewOf = async (feed: Pick<Feed, 'read'>, row: ConversationRow): Promise<VisibilityLookup> => {
  const parts = feed.read(({ rows }) => partsOf(rows, row))
  const turnings: HistoryChange[] = []
  const turning = turner()
  for (const part of parts)
    for (let after = -1, page = atOnce; page === atOnce;) {
      const marks = feed.read((_, { db }) => marksIn(db, part, after))
      for (const mark of marks) turnings.push(turning(mark))
      after = marks.at(-1)?.position ?? after
      page = marks.length
      await breath()
    }
  /** Cache of chunks, because successive lookups are mostly of adjacent positions. */
  const read = new Map<string, Chunk>()
  const stateIn: VisibilityLookup['stateAt'] = (entry, at) => stateAt(turnings, entry, at)
  return {
    stateAt: stateIn,
    statesOf: (entry) => {
      const reply = feed.read(({ rows }) => replyAfter(rows, parts, entry))
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
      const chunk = read.get(name) ?? feed.read(({ rows }) => rows.chunks(part.row, number, number)[0])
      if (chunk) read.set(name, chunk)
      return chunk?.columns.kindAt(index) ?? '-'
    },
  }
}

const marksIn = (
  db: DatabaseSync,
  { row: { n }, last: end }: LineagePart,
  after: number,
): readonly IndexedChange[] =>
  db
    .prepare(
      `SELECT position, kind, target, first, last, tally IS NOT NULL AS hides FROM marks
       WHERE thread = ? AND position > ? AND position <= ? ORDER BY position LIMIT ${atOnce}`,
    )
    .all(n, after, end)
    .map(({ position, kind, target, first, last, hides }) => ({
      position: Number(position),
      kind: String(kind) as EventKind,
      target: Number(target),
      covers: hides ? { first: Number(first), last: Number(last) } : undefined,
    }))

/** Returns the position of the first model reply after a position. */
const replyAfter = (
  rows: ConversationTable,
  parts: readonly LineagePart[],
  position: number,
): number | undefined => {
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
const statuses: Readonly<Partial<Record<EventKind, EntryStatus>>> = {
  C: 'condensed',
  T: 'truncated',
  R: 'restored',
}

/** Returns the state of an entry in the full history at a position; undefined if the event is not an entry of that history. */
export const fateIn = (
  { stateAt: at, kindAt }: VisibilityLookup,
  entry: number,
  position: number,
): EntryState | undefined => {
  if (!isEntry(kindAt(entry))) return undefined
  const seen = at(entry, position)
  if (seen.state === 'shown') return { status: 'active' }
  const { state, by } = seen
  const status = state === 'abandoned' ? state : statuses[kindAt(by)]
  // `stateAt` reports a marker that hides nothing as hidden by itself.
  return status && by !== entry ? { status, by } : undefined
}
