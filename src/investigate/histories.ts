import { type Effective, effective, type Item, itemOf } from '../projections/effective.ts'
import { draftOf, emptyLayout, evolve, type HistoryLayout, type Slot } from '../projections/layout.ts'
import { type Log, resolve } from '../projections/path.ts'

/** Maximum number of histories in memory. */
const most = 4

/**
 * Returns a function that computes the effective history of a log at any position. Ascending positions take a single pass over the log.
 * The last few histories are cached; other histories are folded from the beginning.
 */
export const historiesOf = (log: Log): ((at: number) => Effective) => {
  const advance = advancing(log)
  const known = new Map<number, Effective>()
  return (at) => {
    const found = known.get(at) ?? advance(at) ?? effective(log, at)
    known.delete(at)
    known.set(at, found)
    const [oldest] = known.keys()
    if (known.size > most && oldest !== undefined) known.delete(oldest)
    return found
  }
}

/**
 * Returns a function that computes the history at ascending positions. The function returns undefined for a position before the last
 * requested one.
 */
const advancing = (log: Log): ((at: number) => Effective | undefined) => {
  const returns = new Set(
    log.flatMap(({ type, position }) => (type === 'Rewound' ? [resolve(log, position)] : [])),
  )
  const kept = new Map<number, HistoryLayout>()
  const restored = new Set(log.flatMap((event) => (event.type === 'Restored' ? [event.data.marker] : [])))
  // A marker replaces the same slots on every branch that contains it.
  const replaced = new Map<number, readonly Slot[]>()
  // Items of the last history whose items were needed. Neighbouring histories share most of them.
  let items = new Map<number, Item>()
  const itemsIn = ({ slots }: HistoryLayout): readonly Item[] => {
    const before = items
    items = new Map()
    for (const { position } of slots) {
      const event = log[position]
      const item = before.get(position) ?? (event && itemOf(event))
      if (item) items.set(position, item)
    }
    return [...items.values()]
  }
  let draft = draftOf(emptyLayout)
  let last = -1
  return (at) => {
    if (at < last) return undefined
    for (let event = log[last + 1]; event && last < at; event = log[last + 1]) {
      last++
      if (event.type === 'Rewound') draft = draftOf(kept.get(resolve(log, last)) ?? emptyLayout)
      else {
        const slots = evolve(draft, event, (marker) => replaced.get(marker))
        if (slots && restored.has(last)) replaced.set(last, slots)
      }
      if (returns.has(last)) kept.set(last, draftOf(draft))
    }
    const layout = draftOf(draft)
    let shown: readonly Item[] | undefined
    return {
      at,
      head: resolve(log, at),
      layout,
      // Computed on demand, because most callers need only the layout.
      get items() {
        return (shown ??= itemsIn(layout))
      },
    }
  }
}
