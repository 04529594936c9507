import { effective, type Item } from './effective.ts'
import { type Entry, fullInSlices } from './full.ts'
import { lastOf, type Log } from './path.ts'
import { atOnce } from './slices.ts'

/**
 * An item of one or both compared histories. `entry` has the item's state at position `to`; if the item disappeared, the state names
 * the event that hid it.
 */
export interface DiffChange {
  readonly change: 'kept' | 'appeared' | 'disappeared'
  readonly entry: Entry
}
/** Differences between the effective histories at `from` and at `to`, in the order of the histories. */
export interface Diff {
  readonly from: number
  readonly to: number
  readonly changes: readonly DiffChange[]
}

/** Compares the effective histories at two positions. `from` may be later than `to`. */
export const diff = (log: Log, from: number, to = lastOf(log)): Diff => atOnce(diffInSlices(log, from, to))

/** Computes the same as `diff`, in slices of work. */
export function* diffInSlices(log: Log, from: number, to: number): Generator<void, Diff> {
  const before = effective(log, from).items
  yield
  const after = effective(log, to).items
  const fates = yield* fullInSlices(log, { at: to, abandoned: true })
  return differenceOf({ from, to, before, after }, fates)
}

interface Seen {
  readonly from: number
  readonly to: number
  readonly before: readonly Item[]
  readonly after: readonly Item[]
}

/** Returns the items that were shown before but are not shown after. */
export const missingItems = ({ before, after }: Pick<Seen, 'before' | 'after'>): readonly Item[] => {
  const shown = new Set(after.map(({ position }) => position))
  return before.filter(({ position }) => !shown.has(position))
}

/**
 * Computes the difference between the items shown at two positions.
 *
 * @param fates states of the disappeared items at position `to`; items recorded after `to` are taken from `before`
 */
export const differenceOf = (seen: Seen, fates: readonly Entry[]): Diff => {
  const { from, to, before, after } = seen
  const gone = new Set(missingItems(seen))
  const fateOf = new Map(fates.map((entry) => [entry.position, entry]))
  const changes: DiffChange[] = []
  const add = (change: DiffChange['change'], item: Item): void =>
    void changes.push({ change, entry: { ...item, status: 'active' } })
  let next = 0
  const appearUntil = (position: number | undefined): void => {
    for (let item = after[next]; item && item.position !== position; item = after[++next])
      add('appeared', item)
  }
  for (const item of before) {
    const fate = gone.has(item) ? fateOf.get(item.position) : undefined
    if (fate) changes.push({ change: 'disappeared', entry: fate })
    else if (gone.has(item)) add('disappeared', item)
    else {
      appearUntil(item.position)
      add('kept', item)
      next++
    }
  }
  appearUntil(undefined)
  return { from, to, changes }
}
