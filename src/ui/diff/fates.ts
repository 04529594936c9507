import type { DiffRow, DiffRowEntry } from './rows.ts'

// Changes of the entries between the full histories at two positions.

type Fate = 'kept' | 'came' | 'left' | 'turned'
interface Fated<E extends DiffRowEntry> {
  readonly fate: Fate
  readonly entry: E
  /** Status of the entry at the first position, if it has changed. */
  readonly was?: string | undefined
}

const fatesOf = <E extends DiffRowEntry>(before: readonly E[], after: readonly E[]): readonly Fated<E>[] => {
  const earlier = new Map(before.map((entry) => [entry.position, entry]))
  const later = new Set(after.map(({ position }) => position))
  const fateOf = (entry: E): Fated<E> => {
    const old = earlier.get(entry.position)
    if (!old) return { fate: 'came', entry }
    if (old.status === entry.status && old.by === entry.by) return { fate: 'kept', entry }
    return { fate: 'turned', entry, was: old.status }
  }
  return [
    ...after.map(fateOf),
    ...before.flatMap((entry): readonly Fated<E>[] =>
      later.has(entry.position) ? [] : [{ fate: 'left', entry }],
    ),
  ].toSorted((one, other) => one.entry.position - other.entry.position)
}

/**
 * Groups consecutive entries with the same change into rows, in order of position. A row of kind `left` has entries that only the first
 * history contains, because they come after the second position.
 */
export const fateRows = <E extends DiffRowEntry>(
  before: readonly E[],
  after: readonly E[],
): readonly DiffRow<E>[] => {
  const runs: Fated<E>[][] = []
  for (const one of fatesOf(before, after)) {
    const run = runs.at(-1)
    if (run?.[0] && isAlike(run[0], one)) run.push(one)
    else runs.push([one])
  }
  return runs.flatMap((run): readonly DiffRow<E>[] => {
    const [first] = run
    if (!first) return []
    const entries = run.map(({ entry }) => entry)
    const { status = 'active', by } = first.entry
    switch (first.fate) {
      case 'kept':
        return [{ kind: 'kept', entries }]
      case 'came':
        return [{ kind: 'came', entries, status, by }]
      case 'turned':
        return [{ kind: 'turned', entries, status, by }]
      case 'left':
        return [{ kind: 'left', entries, status: 'later', by: undefined }]
    }
  })
}

const isAlike = (one: Fated<DiffRowEntry>, other: Fated<DiffRowEntry>): boolean =>
  one.fate === other.fate &&
  (one.fate === 'kept' ||
    one.fate === 'left' ||
    (one.entry.status === other.entry.status && one.entry.by === other.entry.by))

/**
 * Returns the entries in the range of positions that both fetched histories cover, and the first position of that range (`from`). If a
 * history has `most` entries, its earlier entries may not have been fetched.
 */
export const commonPart = <E extends DiffRowEntry>(
  before: readonly E[],
  after: readonly E[],
  most: number,
): { readonly before: readonly E[]; readonly after: readonly E[]; readonly from: number } => {
  const begin = (entries: readonly E[]): number => (entries.length < most ? 0 : (entries[0]?.position ?? 0))
  const from = Math.max(begin(before), begin(after))
  const since = (entries: readonly E[]): readonly E[] => entries.filter(({ position }) => position >= from)
  return { before: since(before), after: since(after), from }
}
