import { isIn, type Jump, type Paths } from './path.ts'
import type { Pane } from '../url.ts'
import type { RequestRepair, OutlineRestore, ShownEntry, ClippedItem } from '../source/answers.ts'

// The rows of the page: what happened beside what the model sees. A row is one text where both agree, and two where they differ.

export type MarkerItem = Exclude<ClippedItem, { readonly kind: 'message' }>

export type HistoryRow =
  /** An entry that the model sees. */
  | { readonly kind: 'same'; readonly position: number; readonly item: ClippedItem }
  /** A summary or truncation, with the size of what it hides. `loaded`: number of its entries loaded, if it is open. */
  | {
      readonly kind: 'group'
      readonly position: number
      readonly item: MarkerItem
      readonly isOpen: boolean
      readonly loaded?: number | undefined
    }
  /** A hidden entry, which names the marker that hides it. `group`: the marker that is shown in its place. */
  | { readonly kind: 'hidden'; readonly position: number; readonly entry: ShownEntry; readonly group: number }
  /** Earlier entries of an open group that are not loaded yet. */
  | { readonly kind: 'more'; readonly position: number; readonly group: number }
  /** Events abandoned by a rewind. */
  | {
      readonly kind: 'jump'
      readonly position: number
      readonly jump: Jump
      readonly isOpen: boolean
      readonly group?: number | undefined
    }
  | {
      readonly kind: 'abandoned'
      readonly position: number
      readonly entry: ShownEntry
      readonly group?: number | undefined
    }
  /** A marker that was undone by a restore. */
  | {
      readonly kind: 'restored'
      readonly position: number
      readonly by: number
      readonly group?: number | undefined
    }
  /** Change of the request that makes the API take it. */
  | { readonly kind: 'repair'; readonly position: number; readonly repair: RequestRepair }

/** The loaded entries of an open group or jump. */
export interface SectionEntries {
  /** Entries by position, ascending. */
  readonly entries: readonly ShownEntry[]
  /** True if there are earlier entries. */
  readonly hasMore: boolean
}

/** An open group or jump. */
export interface OpenSection {
  /** Position of the marker, or first position of the jump. */
  readonly position: number
  /** Bounds of its entries: below `before`, and at or after `from`. */
  readonly before: number
  readonly from: number
  readonly isGroup: boolean
}

/** Consecutive entries. */
interface Page {
  readonly items: readonly ShownEntry[]
  /** The position before which the page ends; it has every entry from its first one up to there. */
  readonly until: number
  /** True if there may be earlier entries. */
  readonly isFull: boolean
}

/** Merges a new page into the entries of a group or jump, replacing known entries at the same positions. */
export const pieceWith = (
  before: SectionEntries | undefined,
  { position, from, isGroup }: OpenSection,
  { items, until, isFull }: Page,
): SectionEntries => {
  const first = items[0]?.position ?? -1
  const known = before?.entries ?? []
  const earlier = known.filter((entry) => entry.position < first)
  // What is hidden by a nested marker is known by what comes after it.
  const all = [...earlier, ...items, ...known.filter((entry) => entry.position >= until)]
  return {
    entries: isGroup ? entriesHiddenBy(all, position) : all.filter((entry) => entry.position >= from),
    hasMore: before?.hasMore !== false && (earlier.length > 0 || (isGroup && isFull && first > from)),
  }
}

export interface RowsInput {
  readonly at: number
  /** Items in the order in which the model sees them. */
  readonly items: readonly ClippedItem[]
  readonly paths: Paths
  readonly restores: readonly OutlineRestore[]
  readonly isOpen: (position: number) => boolean
  /** Returns the entries of an open group (by its marker) or jump (by its first position); undefined if not loaded yet. */
  readonly pieceOf: (position: number) => SectionEntries | undefined
  readonly repairs?: readonly RequestRepair[] | undefined
}

/** Returns the rows, first to last. */
export const rowsOf = (shown: RowsInput): readonly HistoryRow[] => {
  const { items, at } = shown
  // Between the items, by position.
  const beside = [...jumpRows(shown), ...restoredRows(shown)].toSorted(
    (one, other) => one.position - other.position,
  )
  const rows: HistoryRow[] = []
  let next = 0
  const takeWhile = (isTaken: (row: Beside) => boolean): readonly Beside[] => {
    const first = next
    for (let row = beside[next]; row && isTaken(row); row = beside[next]) next++
    return beside.slice(first, next)
  }
  for (const item of items) {
    if (item.kind === 'message') {
      rows.push(...takeWhile((row) => row.position < item.position).flatMap((row) => opened(shown, row)))
      rows.push({ kind: 'same', position: item.position, item })
      continue
    }
    const { first, last } = reach(shown, item)
    rows.push(...takeWhile((row) => row.position < first).flatMap((row) => opened(shown, row)))
    rows.push(
      ...groupRows(
        shown,
        item,
        takeWhile((row) => row.position < last),
      ),
    )
  }
  rows.push(...takeWhile(({ position }) => position <= at).flatMap((row) => opened(shown, row)))
  return withRepairs(rows, shown.repairs ?? [])
}

type Beside = Extract<HistoryRow, { readonly kind: 'jump' | 'restored' }>

const jumpRows = ({ paths, at, isOpen }: RowsInput): readonly Beside[] =>
  paths.jumps(at).map((jump) => ({
    kind: 'jump' as const,
    position: jump.from,
    jump,
    isOpen: isOpen(jump.from),
  }))

const restoredRows = ({ restores, paths, at }: RowsInput): readonly Beside[] => {
  const path = paths.stretches(at)
  return restores.flatMap(({ position: by, marker: position }) =>
    by <= at && isIn(path, by) ? [{ kind: 'restored' as const, position, by }] : [],
  )
}

/**
 * Returns the range of a marker's hidden entries, as far as it is known. A covered marker has a higher position than everything it
 * covers itself.
 */
const reach = (
  { pieceOf, isOpen }: RowsInput,
  { position, covers }: MarkerItem,
): { readonly first: number; readonly last: number } => {
  const piece = isOpen(position) ? pieceOf(position) : undefined
  const first = piece && !piece.hasMore ? piece.entries[0]?.position : undefined
  return { first: first ?? Math.min(covers.first, covers.last), last: covers.last }
}

const opened = (shown: RowsInput, row: Beside, group?: number): readonly HistoryRow[] => {
  const own = group === undefined ? row : { ...row, group }
  if (row.kind === 'restored' || !row.isOpen) return [own]
  const entries = shown.pieceOf(row.position)?.entries ?? []
  const left = entries.map((entry) => ({
    kind: 'abandoned' as const,
    position: entry.position,
    entry,
    group,
  }))
  return [own, ...left]
}

const groupRows = (shown: RowsInput, item: MarkerItem, beside: readonly Beside[]): readonly HistoryRow[] => {
  const { position } = item
  const isOpen = shown.isOpen(position)
  const piece = isOpen ? shown.pieceOf(position) : undefined
  const head: HistoryRow = { kind: 'group', position, item, isOpen, loaded: piece?.entries.length }
  if (!piece) return [head]
  const rows: HistoryRow[] = [head]
  if (piece.hasMore) rows.push({ kind: 'more', position, group: position })
  const from = piece.hasMore ? (piece.entries[0]?.position ?? position) : -1
  const rest = beside.filter((row) => row.position >= from)
  let next = 0
  for (const entry of piece.entries) {
    for (let row = rest[next]; row && row.position < entry.position; row = rest[++next])
      rows.push(...opened(shown, row, position))
    rows.push({ kind: 'hidden', position: entry.position, entry, group: position })
  }
  rows.push(...rest.slice(next).flatMap((row) => opened(shown, row, position)))
  return rows
}

/** Each repair after the row of its position, and after all that is open under it; those of no row at the end. */
const withRepairs = (
  rows: readonly HistoryRow[],
  repairs: readonly RequestRepair[],
): readonly HistoryRow[] => {
  if (repairs.length === 0) return rows
  const rest = Map.groupBy(repairs, ({ position }) => position)
  const take = (position: number): readonly HistoryRow[] => {
    const taken = rest.get(position) ?? []
    rest.delete(position)
    return taken.map((repair) => ({ kind: 'repair' as const, position, repair }))
  }
  const placed = rows.flatMap((row, index) => {
    const next = rows[index + 1]
    const group = 'group' in row ? row.group : isSeen(row) ? row.position : undefined
    const isLast = group !== undefined && !(next && 'group' in next && next.group === group)
    return isLast ? [row, ...take(group)] : [row]
  })
  return [...placed, ...[...rest.keys()].flatMap(take)]
}

/** True if the model sees something at this row. */
const isSeen = ({ kind }: HistoryRow): boolean => kind === 'same' || kind === 'group'

/**
 * Returns the entries that a marker hides, at all levels, from consecutive entries: the marker that hides an entry may itself be
 * hidden.
 *
 * @param entries by position, up to the marker
 */
export const entriesHiddenBy = (entries: readonly ShownEntry[], marker: number): readonly ShownEntry[] => {
  const hidden = new Set([marker])
  // From the last one: a marker comes after what it hides.
  for (const { position, status, by } of entries.toReversed())
    if ((status === 'condensed' || status === 'truncated') && by !== undefined && hidden.has(by))
      hidden.add(position)
  return entries.filter(({ position }) => position !== marker && hidden.has(position))
}

/** True if a pane shows this row. */
export const isInPane = ({ kind }: HistoryRow, pane: Pane): boolean =>
  pane === 'both' ||
  (pane === 'model' ? kind === 'same' || kind === 'group' || kind === 'repair' : kind !== 'repair')

/** Describes a row's state, for screen readers and the ribbon. */
export const stateOf = (row: HistoryRow): string => {
  switch (row.kind) {
    case 'same':
      return 'seen by the model'
    case 'group':
      return row.item.kind === 'summary' ? 'summary' : 'truncation'
    case 'hidden':
      return `hidden, ${row.entry.status} by ${row.entry.by}`
    case 'abandoned':
      return `abandoned by the rewind at ${row.entry.by}`
    case 'jump':
      return `abandoned by the rewind at ${row.jump.by}`
    case 'restored':
      return `taken back by the restore at ${row.by}`
    case 'repair':
      return 'repaired in the request'
    case 'more':
      return 'not loaded'
  }
}
