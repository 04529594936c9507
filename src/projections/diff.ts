import { effective } from './effective.ts'
import { type Entry, fulling } from './full.ts'
import { lastOf, type Log } from './path.ts'
import { atOnce } from './slices.ts'

/** An item of either effective history. `entry` is what it is at the later position: of what disappeared, by which event. */
export interface Change {
  readonly change: 'kept' | 'appeared' | 'disappeared'
  readonly entry: Entry
}
/** What the model sees at `to` compared with what it saw at `from`, in the order of the histories. */
export interface Diff {
  readonly from: number
  readonly to: number
  readonly changes: readonly Change[]
}

/** Compares the effective histories at two positions, either of which may be the later one. */
export const diff = (log: Log, from: number, to = lastOf(log)): Diff => atOnce(diffing(log, from, to))

/** `diff`, in slices. */
export function* diffing(log: Log, from: number, to: number): Generator<void, Diff> {
  const before = effective(log, from).items
  yield
  const after = effective(log, to).items
  const kept = positionsOf(before).intersection(positionsOf(after))
  const all = yield* fulling(log, { at: Math.max(from, to), abandoned: true })
  const entries = new Map(all.map((entry) => [entry.position, entry]))
  const those = yield* fulling(log, { at: to, abandoned: true })
  const fates = new Map(those.map((entry) => [entry.position, entry]))
  const change = (kind: Change['change'], position: number): readonly Change[] => {
    const entry = fates.get(position) ?? entries.get(position)
    return entry ? [{ change: kind, entry }] : []
  }
  const changes: Change[] = []
  let next = 0
  const appearUntil = (position: number | undefined): void => {
    for (; next < after.length && after[next]?.position !== position; next++)
      changes.push(...change('appeared', after[next]?.position ?? -1))
  }
  for (const { position } of before) {
    if (!kept.has(position)) changes.push(...change('disappeared', position))
    else {
      appearUntil(position)
      changes.push(...change('kept', position))
      next++
    }
  }
  appearUntil(undefined)
  return { from, to, changes }
}

const positionsOf = (items: readonly { readonly position: number }[]): ReadonlySet<number> =>
  new Set(items.map(({ position }) => position))
