import type { DatabaseSync } from 'node:sqlite'
import type { BucketColumns, EventKind, MarkerOutline, OutlineColumns } from '../projections/columns.ts'
import { flags } from './columns.ts'
import { partsOf } from './lineage.ts'
import type { Chunk, ConversationTable } from './rows.ts'
import { placeIn, type ConversationRow } from './conversation-row.ts'
import type { HiddenTally } from './tally.ts'

/** Collector that reads a conversation piece by piece, from the first requested position on. */
export interface PieceTaker<P, A> {
  /** Reads the events from `first` through `last`. */
  readonly read: (
    db: DatabaseSync,
    rows: ConversationTable,
    thread: ConversationRow,
    first: number,
    last: number,
  ) => P
  readonly take: (piece: P) => void
  /** Returns the result collected from the pieces so far. */
  readonly taken: () => A
}

/** Chunks of one conversation's own events, and the range of positions to take from them. */
interface Stretch {
  readonly first: number
  readonly last: number
  readonly row: ConversationRow
  readonly chunks: readonly Chunk[]
}

const stretchesOf = (
  rows: ConversationTable,
  thread: ConversationRow,
  from: number,
  to: number,
): readonly Stretch[] =>
  partsOf(rows, thread).flatMap(({ row, last: end }) => {
    const [first, last] = [Math.max(from, row.from), Math.min(to, end)]
    if (first > last) return []
    return [
      { first, last, row, chunks: rows.chunks(row, placeIn(row, first).number, placeIn(row, last).number) },
    ]
  })

/** Creates a collector of the columns of a conversation, starting at a position. */
export const createOutlineTaker = (
  from: number,
): PieceTaker<readonly (Stretch & { readonly marks: readonly Mark[] })[], OutlineColumns> => {
  const kinds: string[] = []
  const [sizes, tokens, times]: [number[], number[], number[]] = [[], [], []]
  const [calls, failed, retries]: [number[], number[], number[]] = [[], [], []]
  const markers: MarkerOutline[] = []
  const rewinds: { readonly position: number; readonly to: number }[] = []
  const restores: { readonly position: number; readonly marker: number }[] = []

  const takeMark = (mark: Mark): void => {
    const { position, kind, target } = mark
    if (kind === 'W') rewinds.push({ position, to: target })
    else if (kind === 'R') restores.push({ position, marker: target })
    else markers.push(...markerOf(mark))
  }
  return {
    read: (db, rows, thread, begin, end) =>
      stretchesOf(rows, thread, begin, end).map((stretch) => ({
        ...stretch,
        marks: marksIn(db, stretch.row, stretch.first, stretch.last),
      })),
    take: (stretches) => {
      for (const { first, last, chunks, marks } of stretches) {
        for (const mark of marks) takeMark(mark)
        for (const { start, columns } of chunks) {
          const [begin, stop] = [Math.max(0, first - start), Math.min(columns.count, last - start + 1)]
          kinds.push(Buffer.from(columns.letters.subarray(begin, stop)).toString('latin1'))
          for (let index = begin; index < stop; index++) {
            sizes.push(columns.sizes[index] ?? 0)
            tokens.push(columns.tokens[index] ?? 0)
            times.push(columns.times[index] ?? 0)
            const marked = columns.flags[index] ?? 0
            if ((marked & flags.call) > 0) calls.push(start + index)
            if ((marked & flags.failed) > 0) failed.push(start + index)
            if ((marked & flags.retry) > 0) retries.push(start + index)
          }
        }
      }
    },
    taken: () => ({
      from,
      to: from + sizes.length - 1,
      kinds: kinds.join(''),
      sizes,
      tokens,
      times,
      calls,
      failed,
      retries,
      markers,
      rewinds,
      restores,
    }),
  }
}

/** A row of the table `marks`; the kind of event determines which fields are set. */
interface Mark extends Omit<MarkerOutline, 'kind' | 'method'> {
  readonly kind: EventKind
  readonly target: number
  readonly method: string | null
}

const marksIn = (db: DatabaseSync, { n }: ConversationRow, first: number, last: number): readonly Mark[] =>
  db
    .prepare('SELECT * FROM marks WHERE thread = ? AND position BETWEEN ? AND ? ORDER BY position')
    .all(n, first, last)
    .map((row) => ({
      position: Number(row['position']),
      kind: String(row['kind']) as EventKind,
      first: Number(row['first']),
      last: Number(row['last']),
      target: Number(row['target']),
      hidden: Number(row['hidden']),
      before: Number(row['before']),
      after: Number(row['after']),
      method: row['method'] === null ? null : String(row['method']),
    }))

const markerOf = ({ kind, method, ...mark }: Mark): readonly MarkerOutline[] => {
  if (kind !== 'C' && kind !== 'T') return []
  const { position, first, last, hidden, before, after } = mark
  const named = kind === 'C' ? ('condensed' as const) : ('truncated' as const)
  return [{ position, kind: named, first, last, hidden, before, after, ...(method !== null && { method }) }]
}

/** Creates a collector that distributes the first `count` events of a conversation over at most `wanted` buckets. */
export const createBucketTaker = (
  count: number,
  wanted: number,
): PieceTaker<readonly Stretch[], BucketColumns> => {
  const buckets = Math.min(wanted, count)
  const first = Array.from({ length: buckets }, (_, bucket) => Math.ceil((bucket * count) / buckets))
  const min = first.map(() => Infinity)
  const zeros = (): number[] => first.map(() => 0)
  const [max, markers, rewinds] = [zeros(), zeros(), zeros()]
  const [failed, retries] = [zeros(), zeros()]
  const kinds: Partial<Record<EventKind, number[]>> = {}
  let bucket = 0

  const takeEvent = (position: number, tokens: number, kind: EventKind, marked: number): void => {
    while (position >= (first[bucket + 1] ?? Infinity)) bucket++
    if (tokens < (min[bucket] ?? 0)) min[bucket] = tokens
    if (tokens > (max[bucket] ?? 0)) max[bucket] = tokens
    const ofKind = (kinds[kind] ??= zeros())
    ofKind[bucket] = (ofKind[bucket] ?? 0) + 1
    if (kind === 'C' || kind === 'T') markers[bucket] = (markers[bucket] ?? 0) + 1
    if (kind === 'W') rewinds[bucket] = (rewinds[bucket] ?? 0) + 1
    if ((marked & flags.failed) > 0) failed[bucket] = (failed[bucket] ?? 0) + 1
    if ((marked & flags.retry) > 0) retries[bucket] = (retries[bucket] ?? 0) + 1
  }
  return {
    read: (_, rows, thread, begin, end) => stretchesOf(rows, thread, begin, end),
    take: (stretches) => {
      for (const { first: begin, last, chunks } of stretches)
        for (const { start, columns } of chunks)
          for (const [index, tokens] of columns.tokens.entries())
            if (start + index >= begin && start + index <= last)
              takeEvent(start + index, tokens, columns.kindAt(index), columns.flags[index] ?? 0)
    },
    taken: () => ({ buckets, first, min, max, kinds, markers, rewinds, failed, retries }),
  }
}

/**
 * Returns counts of the content hidden by a marker, including content hidden by markers inside it; undefined if no marker at this
 * position hides anything.
 */
export const tallyAt = (
  db: DatabaseSync,
  rows: ConversationTable,
  thread: ConversationRow,
  marker: number,
): HiddenTally | undefined => {
  const part = partsOf(rows, thread).find(({ row, last }) => row.from <= marker && marker <= last)
  const tally =
    part &&
    db.prepare('SELECT tally FROM marks WHERE thread = ? AND position = ?').get(part.row.n, marker)?.['tally']
  return typeof tally === 'string' ? (JSON.parse(tally) as HiddenTally) : undefined
}

/** Maximum number of samples of a curve. */
const samples = 32

/** Returns estimated context sizes in tokens at up to 32 evenly spaced positions, including the last one. */
export const curveOf = (rows: ConversationTable, thread: ConversationRow): readonly number[] => {
  const count = Math.min(samples, thread.last + 1)
  const parts = partsOf(rows, thread)
  let chunk: Chunk | undefined
  return Array.from({ length: count }, (_, sample) => {
    const position = Math.ceil(((sample + 1) * (thread.last + 1)) / count) - 1
    const row = parts.find(({ last }) => position <= last)?.row ?? thread
    const { number, index } = placeIn(row, position)
    if (chunk?.start !== position - index) chunk = rows.chunks(row, number, number)[0]
    return chunk?.columns.tokens[index] ?? 0
  })
}
