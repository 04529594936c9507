import { isIn, type Jump, type Paths } from './path.ts'
import type { Pane } from '../url.ts'
import type { RequestRepair, OutlineRestore, ShownEntry, ClippedItem } from '../source/answers.ts'

// Rows of the page: the full history next to the effective history. An entry that is in both is shown once.

export type MarkerItem = Exclude<ClippedItem, { readonly kind: 'message' }>

export type HistoryRow =
  /** Entry that the model sees. */
  | { readonly kind: 'same'; readonly position: number; readonly item: ClippedItem }
  /**
   * Summary or truncation, which represents the messages that it hides. `loaded` is the number of hidden entries loaded, if the group
   * is expanded.
   */
  | {
      readonly kind: 'group'
      readonly position: number
      readonly item: MarkerItem
      readonly isOpen: boolean
      readonly loaded?: number | undefined
    }
  /** Hidden entry. `entry.by` is the marker that hides it directly; `group` is the visible marker that replaces it. */
  | { readonly kind: 'hidden'; readonly position: number; readonly entry: ShownEntry; readonly group: number }
  /** Placeholder for earlier entries of an expanded group that are not loaded yet. */
  | { readonly kind: 'more'; readonly position: number; readonly group: number }
  /** Range of events abandoned by a rewind. */
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
  /** Marker at `position` that was undone by the restore at `by`. */
  | {
      readonly kind: 'restored'
      readonly position: number
      readonly by: number
      readonly group?: number | undefined
    }
  /** Repair that the request needs for the API to accept it. */
  /** `times`: number of repairs with this description at the position. */
  | {
      readonly kind: 'repair'
      readonly position: number
      readonly repair: RequestRepair
      readonly times: number
    }

/** Loaded entries of an expanded group or abandoned range. */
export interface SectionEntries {
  /** Loaded entries in ascending order of position. */
  readonly entries: readonly ShownEntry[]
  /** True if earlier entries exist that are not loaded. */
  readonly hasMore: boolean
}

/** Expanded group of hidden messages or expanded range of abandoned events. */
export interface OpenSection {
  /** Position of the marker, or first position of the abandoned range. */
  readonly position: number
  /** Half-open range of the section's positions: from `from` (inclusive) to `before` (exclusive). */
  readonly before: number
  readonly from: number
  readonly isGroup: boolean
}

/** Page of consecutive entries. */
interface Page {
  readonly items: readonly ShownEntry[]
  /** End of the page, exclusive: the page has every entry from its first one to this position. */
  readonly until: number
  /** True if the page has the maximum number of entries, so that earlier ones may exist. */
  readonly isFull: boolean
}

/** Merges a new page into the loaded entries of a section. Entries of the page replace loaded ones at the same positions. */
export const pieceWith = (
  before: SectionEntries | undefined,
  { position, from, isGroup }: OpenSection,
  { items, until, isFull }: Page,
): SectionEntries => {
  const first = items[0]?.position ?? -1
  const known = before?.entries ?? []
  const earlier = known.filter((entry) => entry.position < first)
  // Entries that a nested marker hides can be identified only if that marker, which comes after them, is loaded.
  const all = [...earlier, ...items, ...known.filter((entry) => entry.position >= until)]
  return {
    entries: isGroup ? entriesHiddenBy(all, position) : all.filter((entry) => entry.position >= from),
    hasMore: before?.hasMore !== false && (earlier.length > 0 || (isGroup && isFull && first > from)),
  }
}

export interface RowsInput {
  readonly at: number
  /** Items of the effective history, in order. */
  readonly items: readonly ClippedItem[]
  readonly paths: Paths
  readonly restores: readonly OutlineRestore[]
  readonly isOpen: (position: number) => boolean
  /**
   * Returns the loaded entries of an expanded group (by its marker's position) or abandoned range (by its first position); undefined if
   * none are loaded yet.
   */
  readonly pieceOf: (position: number) => SectionEntries | undefined
  readonly repairs?: readonly RequestRepair[] | undefined
}

export const rowsOf = (shown: RowsInput): readonly HistoryRow[] => {
  const { items, at } = shown
  // Rows between the items, in order of position.
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
 * Returns the range of the entries that a marker hides, as far as it is known. The first covered position may exceed the last, because
 * a covered marker comes after everything that it hides.
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

/**
 * Inserts each repair after the row at its position or, if that row is an expanded group, after the group's last row. Repairs whose
 * position has no row come last.
 */
const withRepairs = (
  rows: readonly HistoryRow[],
  repairs: readonly RequestRepair[],
): readonly HistoryRow[] => {
  if (repairs.length === 0) return rows
  const rest = Map.groupBy(repairs, ({ position }) => position)
  const take = (position: number): readonly HistoryRow[] => {
    const taken = rest.get(position) ?? []
    rest.delete(position)
    return [...Map.groupBy(taken, ({ detail }) => detail).values()].flatMap((alike) =>
      alike.slice(0, 1).map((repair) => ({ kind: 'repair' as const, position, repair, times: alike.length })),
    )
  }
  const placed = rows.flatMap((row, index) => {
    const next = rows[index + 1]
    const group = 'group' in row ? row.group : isSeen(row) ? row.position : undefined
    const isLast = group !== undefined && !(next && 'group' in next && next.group === group)
    return isLast ? [row, ...take(group)] : [row]
  })
  return [...placed, ...[...rest.keys()].flatMap(take)]
}

/** Reports whether a row represents an item of the effective history. */
const isSeen = ({ kind }: HistoryRow): boolean => kind === 'same' || kind === 'group'

/**
 * Returns the entries that a marker hides, directly or through other markers that it hides.
 *
 * @param entries consecutive entries up to the marker, in ascending order of position
 */
export const entriesHiddenBy = (entries: readonly ShownEntry[], marker: number): readonly ShownEntry[] => {
  const hidden = new Set([marker])
  // Backwards, because a marker comes after the entries that it hides.
  for (const { position, status, by } of entries.toReversed())
    if ((status === 'condensed' || status === 'truncated') && by !== undefined && hidden.has(by))
      hidden.add(position)
  return entries.filter(({ position }) => position !== marker && hidden.has(position))
}

/** Reports whether a pane shows a row. */
export const isInPane = ({ kind }: HistoryRow, pane: Pane): boolean =>
  pane === 'both' ||
  (pane === 'model' ? kind === 'same' || kind === 'group' || kind === 'repair' : kind !== 'repair')

/** Describes the state of a row for screen readers and the inspector. */
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
