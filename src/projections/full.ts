import { type Item, itemOf } from './effective.ts'
import { folding } from './outline.ts'
import { lastOf, type Log, parent, resolve } from './path.ts'
import { atOnce, sliceLength } from './slices.ts'

/**
 * What became of an entry: shown (`active`), hidden by the marker `by` (`condensed`, `truncated`), a marker that the event `by`
 * took back (`restored`), or left by the `Rewound` event `by` (`abandoned`).
 */
export type Status = 'active' | 'condensed' | 'truncated' | 'restored' | 'abandoned'

/** A message or marker of the full history. */
export type Entry = Item & { readonly status: Status; readonly by?: number }

/** `at`: the position to look from, the last one by default. `abandoned`: also what was rewound away. */
export interface FullOptions {
  readonly at?: number
  readonly abandoned?: boolean
}

/** Every message and marker once, by position, each with what became of it. Nothing is ever left out. */
export const full = (log: Log, options: FullOptions = {}): readonly Entry[] => atOnce(fulling(log, options))

/** `full`, in slices. */
export function* fulling(
  log: Log,
  { at = lastOf(log), abandoned = false }: FullOptions,
): Generator<void, readonly Entry[]> {
  const fates = yield* fatesAt(log, at)
  const left = abandoned ? yield* leftAt(log, at) : new Map<number, number>()
  const entries: Entry[] = []
  for (const event of log.slice(0, at + 1)) {
    if ((event.position + 1) % sliceLength === 0) yield
    const item = itemOf(event)
    if (!item) continue
    const fate = fates.get(item.position)
    const by = left.get(item.position)
    if (fate) entries.push({ ...item, ...fate })
    else if (by !== undefined) entries.push({ ...item, status: 'abandoned', by })
  }
  return entries
}

interface Fate {
  readonly status: Status
  readonly by?: number
}
const active: Fate = { status: 'active' }

function* fatesAt(log: Log, at: number): Generator<void, ReadonlyMap<number, Fate>> {
  const fates = new Map<number, Fate>()
  yield* folding(log, at, ({ type, position, data }, slots) => {
    switch (type) {
      case 'MessageAppended':
        fates.set(position, active)
        break
      case 'Condensed':
      case 'Truncated':
        if (!slots) break
        fates.set(position, active)
        for (const slot of slots)
          fates.set(slot.position, { status: type === 'Condensed' ? 'condensed' : 'truncated', by: position })
        break
      case 'Restored':
        if (!slots) break
        fates.set(data.marker, { status: 'restored', by: position })
        for (const slot of slots) fates.set(slot.position, active)
        break
      case 'Configured':
      case 'Forked':
      case 'Rewound':
        break
    }
  })
  return fates
}

/** Positions off the path at `at`, each with the last `Rewound` event that left it. */
function* leftAt(log: Log, at: number): Generator<void, ReadonlyMap<number, number>> {
  const left = new Map<number, number>()
  for (let position = 0; position <= at; position++) {
    if ((position + 1) % sliceLength === 0) yield
    if (log[position]?.type !== 'Rewound') continue
    // From the two tips down to where the two paths meet: one side is left, the other is entered again.
    let from = parent(log, position)
    let to = resolve(log, position)
    while (from !== to) {
      if (from > to) {
        left.set(from, position)
        from = parent(log, from)
      } else {
        left.delete(to)
        to = parent(log, to)
      }
    }
  }
  return left
}
