// Differences between two positions as rows: entries that were removed, added or kept, and the events that caused the changes.

export interface DiffRowEntry {
  readonly kind: 'message' | 'summary' | 'truncation'
  readonly position: number
  /** Status of the entry. `by` is the position of the event that caused the status. */
  readonly status?: string | undefined
  readonly by?: number | undefined
  readonly covers?: { readonly first: number; readonly last: number } | undefined
  readonly messagesHidden?: number | undefined
}
export interface DiffRowChange<E extends DiffRowEntry = DiffRowEntry> {
  readonly change: 'kept' | 'appeared' | 'disappeared'
  readonly entry: E
}

/** Row of a comparison: consecutive entries with the same change. */
export type DiffRow<E extends DiffRowEntry = DiffRowEntry> =
  | { readonly kind: 'kept'; readonly entries: readonly E[] }
  /** Added entries. `status` and `by` are set if their status has changed since. */
  | {
      readonly kind: 'came'
      readonly entries: readonly E[]
      readonly status?: string
      readonly by?: number | undefined
    }
  /** Entries that were removed (`left`) or have a new status (`turned`). `by` is the position of the event that caused the change. */
  | {
      readonly kind: 'left' | 'turned'
      readonly entries: readonly E[]
      readonly status: string
      readonly by: number | undefined
    }
  /** Message that was edited in place. */
  | { readonly kind: 'changed'; readonly before: E; readonly after: E }

/** Reports whether a marker is an edit in place of a message. */
const edits = (marker: DiffRowEntry | undefined, { position }: DiffRowEntry): boolean =>
  marker?.kind === 'summary' &&
  marker.messagesHidden === 1 &&
  marker.covers?.first === position &&
  marker.covers.last === position

export const diffRows = <E extends DiffRowEntry>(
  changes: readonly DiffRowChange<E>[],
): readonly DiffRow<E>[] => {
  const rows: DiffRow<E>[] = []
  let run: readonly DiffRowChange<E>[] = []
  const close = (): void => {
    const [first] = run
    if (first)
      rows.push(
        rowOf(
          first,
          run.map(({ entry }) => entry),
        ),
      )
    run = []
  }
  for (let index = 0; index < changes.length; index++) {
    const one = changes[index]
    const next = changes[index + 1]
    if (!one) continue
    const isEdit = one.change === 'disappeared' && next?.change === 'appeared' && edits(next.entry, one.entry)
    const [first] = run
    if (isEdit || (first && !isAlike(first, one))) close()
    if (isEdit) {
      rows.push({ kind: 'changed', before: one.entry, after: next.entry })
      index++
    } else run = [...run, one]
  }
  close()
  return rows
}

const isAlike = (one: DiffRowChange, other: DiffRowChange): boolean =>
  one.change === other.change &&
  (one.change !== 'disappeared' ||
    (one.entry.status === other.entry.status && one.entry.by === other.entry.by))

const rowOf = <E extends DiffRowEntry>(
  { change, entry }: DiffRowChange<E>,
  entries: readonly E[],
): DiffRow<E> =>
  change === 'disappeared'
    ? { kind: 'left', entries, status: entry.status ?? 'left', by: entry.by }
    : { kind: change === 'kept' ? 'kept' : 'came', entries }

/** Counts the items that disappeared, appeared and stayed. */
export const sumsOf = (changes: readonly DiffRowChange[]) => {
  const of = (change: DiffRowChange['change']): number =>
    changes.filter((one) => one.change === change).length
  return { left: of('disappeared'), came: of('appeared'), kept: of('kept') }
}

/** Describes why entries are gone or have a new status. The caller appends the position `by` to the text. */
export const reasonOf = (status: string): string => {
  switch (status) {
    case 'condensed':
      return 'replaced by the summary'
    case 'truncated':
      return 'truncated by'
    case 'abandoned':
      return 'abandoned by the rewind at'
    case 'restored':
      return 'taken back by the restore at'
    case 'active':
      return 'seen by the model again'
    case 'later':
      return 'not written yet'
    case 'gone':
      return 'no longer in the request'
    default:
      return 'no longer on the path'
  }
}

/** Returns the positions of the events that hid or removed entries. */
export const causesOf = (changes: readonly DiffRowChange[]): ReadonlySet<number> =>
  new Set(
    changes.flatMap(({ change, entry }) =>
      change === 'disappeared' && entry.by !== undefined ? [entry.by] : [],
    ),
  )

/** Maximum number of entries in a row that is shown in full. In a longer row, the entries in the middle are collapsed. */
const most = 7

/** Returns the entries of a row to show before and after the collapsed ones, and the number of collapsed entries. */
export const foldRow = <E>(entries: readonly E[], isOpen: boolean) =>
  isOpen || entries.length <= most
    ? { before: entries, folded: 0, after: [] }
    : { before: entries.slice(0, 2), folded: entries.length - 4, after: entries.slice(-2) }

/** Formats the first and last positions of a list: `0–118`. */
export const stretchesOf = (entries: readonly Pick<DiffRowEntry, 'position'>[]): string => {
  const [first, last] = [entries[0]?.position, entries.at(-1)?.position]
  if (first === undefined || last === undefined) return ''
  return first === last ? String(first) : `${first}–${last}`
}
