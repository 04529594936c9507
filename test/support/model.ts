import type { Event } from '../../src/events/events.ts'

// Section 3 of the design, as plainly as it can be said: what a conversation is right after each event, one after the other.
// Slow, recursive, and written apart from src/projections, which is checked against it.

/** An item of the effective history, with the items that it stands for (none, if it is a message). */
export interface Node {
  readonly position: number
  readonly hides: readonly Node[]
}

/** What a conversation is right after an event. */
export interface Moment {
  readonly head: number
  readonly path: readonly number[]
  readonly items: readonly Node[]
  /** Markers that were taken back, each with the `Restored` that did it. */
  readonly restored: ReadonlyMap<number, number>
  readonly configured?: number
}

export const nothing: Moment = { head: -1, path: [], items: [], restored: new Map() }

/** The moments right after each position of a log. */
export const moments = (log: readonly Event[]): readonly Moment[] => {
  const all: Moment[] = []
  for (const [position, event] of log.entries())
    all.push(
      event.type === 'Rewound'
        ? (all[event.data.to] ?? nothing)
        : after(all[position - 1] ?? nothing, event, position),
    )
  return all
}

const after = (before: Moment, event: Event, position: number): Moment => {
  const now = { ...before, head: position, path: [...before.path, position] }
  const at = (wanted: number): number => before.items.findIndex((item) => item.position === wanted)
  const replace = (from: number, to: number, by: readonly Node[]): readonly Node[] => [
    ...before.items.slice(0, from),
    ...by,
    ...before.items.slice(to + 1),
  ]
  switch (event.type) {
    case 'MessageAppended':
      return { ...now, items: [...before.items, { position, hides: [] }] }
    case 'Condensed':
    case 'Truncated': {
      const [from, to] = [at(event.data.covers.first), at(event.data.covers.last)]
      if (from < 0 || to < from) return now
      return { ...now, items: replace(from, to, [{ position, hides: before.items.slice(from, to + 1) }]) }
    }
    case 'Restored': {
      const { marker } = event.data
      const hides = before.items[at(marker)]?.hides ?? []
      if (hides.length === 0) return now
      return {
        ...now,
        items: replace(at(marker), at(marker), hides),
        restored: new Map([...before.restored, [marker, position]]),
      }
    }
    case 'Configured':
      return { ...now, configured: position }
    case 'Forked':
    case 'Erased':
    case 'Rewound':
      return now
  }
}

export interface Fate {
  readonly position: number
  readonly status: 'active' | 'condensed' | 'truncated' | 'restored' | 'abandoned'
  readonly by?: number
}

/**
 * The full history right after a position. A marker on the path that hid nothing, because its slice was not shown, is no entry.
 */
export const fullAt = (
  log: readonly Event[],
  all: readonly Moment[],
  at: number,
  abandoned = false,
): readonly Fate[] => {
  const { items, restored } = all[at] ?? nothing
  const shown = items.flatMap((item) => [
    { position: item.position, status: 'active' as const },
    ...hiddenBy(log, item),
  ])
  const takenBack = [...restored].map(([position, by]) => ({ position, status: 'restored' as const, by }))
  const left = abandoned ? abandonedAt(log, all, at) : []
  return [...shown, ...takenBack, ...left].toSorted((one, other) => one.position - other.position)
}

const hiddenBy = (log: readonly Event[], marker: Node): readonly Fate[] => {
  const status = log[marker.position]?.type === 'Condensed' ? 'condensed' : 'truncated'
  return marker.hides.flatMap((item) => [
    { position: item.position, status, by: marker.position },
    ...hiddenBy(log, item),
  ])
}

const abandonedAt = (log: readonly Event[], all: readonly Moment[], at: number): readonly Fate[] => {
  const isOn = (position: number, when: number): boolean => (all[when] ?? nothing).path.includes(position)
  return log.slice(0, at + 1).flatMap(({ type }, position): readonly Fate[] => {
    const isEntry = type === 'MessageAppended' || type === 'Condensed' || type === 'Truncated'
    if (!isEntry || isOn(position, at)) return []
    let by = at
    while (!isOn(position, by - 1) || isOn(position, by)) by--
    return [{ position, status: 'abandoned', by }]
  })
}

/** The messages under an item, at all levels. */
export const messagesUnder = (item: Node): readonly number[] =>
  item.hides.length === 0 ? [item.position] : item.hides.flatMap(messagesUnder)
