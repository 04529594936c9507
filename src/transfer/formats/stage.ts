import type { ViewBasis } from '../../commands/hide.ts'
import { isMarker } from '../../events/event-traits.ts'
import type { ConversationEvent, Event } from '../../events/events.ts'
import { currentSchema } from '../../events/upcast.ts'
import {
  type LayoutDraft,
  draftOf,
  emptyLayout,
  evolve,
  foldInSlices,
  type Slot,
  viewIn,
} from '../../projections/layout.ts'
import { type Log, lastOf } from '../../projections/path.ts'

/** A conversation during an import: its log so far, and the effective history at its end. */
export interface Stage {
  readonly events: Log
  /** Adds the next event, in constant time except for markers. The content of a message is not kept. */
  readonly add: (event: Event) => void
  /**
   * Prepares `slice` and `state`; call it before either of them. It works in slices, so that other work can run in between. After a
   * rewind, it takes time proportional to the length of the path.
   */
  readonly look: () => Generator<void, void>
  /**
   * Returns the shown positions from `first` to `last`, both inclusive. A hidden position stands for the marker that hides it. Returns
   * undefined if the two positions are not shown in that order.
   */
  readonly slice: (first: number | undefined, last: number | undefined) => readonly number[] | undefined
  /** Returns the state from which a marker's view is built. */
  readonly state: () => ViewBasis
}

/**
 * Placeholder metadata. No result of a stage depends on the metadata, and separate objects for each event would take much memory in a
 * large import.
 */
export const unimportant: ConversationEvent['metadata'] = {
  schema: currentSchema,
  time: '1970-01-01T00:00:00.000Z',
  actor: { kind: 'import' },
  commandId: 'import',
  prev: null,
}

const nothing = { role: 'user', content: [] } as const

export const stage = (log: Log): Stage => {
  const events: ConversationEvent[] = [...log]
  // Computed on demand, because most imports call `look` rarely, if at all.
  let seen: Look | undefined

  const add = (event: Event): void => {
    const place = { position: events.length, id: '', metadata: unimportant }
    const added: ConversationEvent =
      event.type === 'MessageAppended'
        ? { type: event.type, data: nothing, ...place }
        : { ...event, ...place }
    events.push(added)
    if (event.type === 'Rewound') seen = undefined
    if (seen)
      seen.take(
        added,
        evolve(seen.draft, added, () => undefined),
      )
  }
  function* look(): Generator<void, void> {
    if (seen) return
    const found = looking()
    const { layout } = yield* foldInSlices(events, lastOf(events), found.take)
    seen = { ...found, draft: draftOf(layout) }
  }
  const shownIndex = ({ draft, hiddenBy }: Look, position: number | undefined): number => {
    let at = position
    for (let by = at; by !== undefined; by = hiddenBy.get(by)) at = by
    return draft.slots.findLastIndex((slot) => slot.position === at)
  }
  const slice: Stage['slice'] = (first, last) => {
    if (!seen) return undefined
    const [from, to] = [shownIndex(seen, first), shownIndex(seen, last)]
    return from < 0 || to < from
      ? undefined
      : seen.draft.slots.slice(from, to + 1).map(({ position }) => position)
  }
  const state = (): ViewBasis => {
    const { draft: layout, sinceView } = seen ?? looking()
    return { last: lastOf(events), sinceView: sinceView(), effective: { layout }, named: {} }
  }
  return { events, add, look, slice, state }
}

/** The state of the path at the end of the log. */
interface Look {
  readonly draft: LayoutDraft
  /** Position of the marker that directly hides an item, by position of the item. */
  readonly hiddenBy: ReadonlyMap<number, number>
  /** Returns the number of events on the path after the last one with a view. */
  readonly sinceView: () => number
  /** Adds the next event of the path, with the slots that it hid or restored. */
  readonly take: (event: ConversationEvent, slots: readonly Slot[] | undefined) => void
}

const looking = (): Look => {
  const hiddenBy = new Map<number, number>()
  let events = 0
  const take: Look['take'] = (event, slots = []) => {
    events = viewIn(event) ? 0 : events + 1
    for (const { position } of slots)
      if (isMarker(event)) hiddenBy.set(position, event.position)
      else hiddenBy.delete(position)
  }
  return { draft: draftOf(emptyLayout), hiddenBy, sinceView: () => events, take }
}
