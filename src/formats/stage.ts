import type { Outlined } from '../commands/hide.ts'
import type { ConversationEvent, Event } from '../events/events.ts'
import { currentSchema } from '../events/upcast.ts'
import { type Item, itemOf } from '../projections/effective.ts'
import { type Draft, evolve, fold, viewIn } from '../projections/outline.ts'
import { type Log, lastOf, path } from '../projections/path.ts'
import { wholeItem } from './shelf.ts'

/** A conversation that an import grows: its log so far, and what is shown at its end. */
export interface Stage {
  readonly events: Log
  /** The event comes next. Constant time, but for markers. */
  readonly add: (event: Event, id: string) => void
  /** The shown items from one position's through another's; a hidden position stands for the marker that hides it. Undefined if they are not shown in that order. */
  readonly slice: (first: number | undefined, last: number | undefined) => readonly Item[] | undefined
  /** What a marker's view is made of. */
  readonly state: () => Outlined
}

// Nothing that is asked of a stage depends on it, and one for each event of a large import would be much.
const metadata: ConversationEvent['metadata'] = {
  schema: currentSchema,
  time: '1970-01-01T00:00:00.000Z',
  actor: { kind: 'import' },
  commandId: 'import',
  prev: null,
}

export const stage = (log: Log): Stage => {
  const events: ConversationEvent[] = [...log]
  // Most imports ask at few places, if at all, and looking takes the longer the more there is.
  let seen: Look | undefined
  const look = (): Look => (seen ??= lookAt(events))

  const add = (event: Event, id: string): void => {
    const position = events.length
    events.push({ ...event, position, id, metadata })
    if (event.type === 'Rewound') seen = undefined
    if (!seen) return
    const hidden = evolve(seen.draft, { ...event, position }, () => undefined) ?? []
    for (const slot of hidden) seen.hiddenBy.set(slot.position, position)
    seen.sinceView = viewIn(event) ? 0 : seen.sinceView + 1
  }

  const shownIndex = (position: number | undefined): number => {
    const { draft, hiddenBy } = look()
    let at = position
    for (let by = at; by !== undefined; by = hiddenBy.get(by)) at = by
    return draft.slots.findLastIndex((slot) => slot.position === at)
  }
  const slice = (first: number | undefined, last: number | undefined): readonly Item[] | undefined => {
    const [from, to] = [shownIndex(first), shownIndex(last)]
    if (from < 0 || to < from) return undefined
    return look()
      .draft.slots.slice(from, to + 1)
      .flatMap(({ position }) => {
        const event = events[position]
        const item = event && itemOf(event)
        return item ? [wholeItem(item)] : []
      })
  }
  const state = (): Outlined => {
    const { draft, sinceView } = look()
    return { last: lastOf(events), sinceView, effective: { outline: draft }, named: {} }
  }
  return { events, add, slice, state }
}

interface Look {
  readonly draft: Draft
  /** The marker that hides a position directly. */
  readonly hiddenBy: Map<number, number>
  /** Events of the path after the last one with a view. */
  sinceView: number
}

const lookAt = (events: Log): Look => {
  const { outline, replaced } = fold(events)
  const shown = new Set(outline.slots.map(({ position }) => position))
  const hiddenBy = new Map<number, number>()
  for (const [marker, slots] of replaced)
    for (const { position } of slots) if (!shown.has(position)) hiddenBy.set(position, marker)
  const positions = path(events)
  const view = positions.findLastIndex((position) => {
    const event = events[position]
    return event !== undefined && viewIn(event) !== undefined
  })
  return {
    draft: { ...outline, slots: [...outline.slots], restored: [...outline.restored] },
    hiddenBy,
    sinceView: positions.length - 1 - view,
  }
}
