import {
  configurationsAt,
  type ConversationEvent,
  contentOf,
  effective,
  type EventKind,
  full,
  kindOf,
  type HiddenByMarker,
  type Log,
  type EntryVisibility,
} from '../../../core.ts'

/** Returns every event that a marker hides, directly or through markers that it hides. */
export const hiddenEventsOf = (log: Log, marker: number): readonly ConversationEvent[] => {
  const found: ConversationEvent[] = []
  const open = [marker]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const event = log[next]
    if (event?.type !== 'Condensed' && event?.type !== 'Truncated') continue
    const { first, last } = event.data.covers
    const { items } = effective(log, next - 1)
    const from = items.findIndex(({ position }) => position === first)
    const to = items.findIndex(({ position }) => position === last)
    for (const { position, kind } of items.slice(from, to + 1)) {
      const hidden = log[position]
      if (hidden) found.push(hidden)
      if (kind !== 'message') open.push(position)
    }
  }
  return found
}

/**
 * Returns summary figures of the messages that a marker hides, directly or through other markers, in the format of the server's
 * `hidden` route; undefined if the event is not a marker.
 */
export const summarizeHidden = (log: Log, marker: number): HiddenByMarker | undefined => {
  const type = log[marker]?.type
  if (type !== 'Condensed' && type !== 'Truncated') return undefined
  const hidden = hiddenEventsOf(log, marker)
  const kinds: Partial<Record<EventKind, number>> = {}
  const tools = new Map<string, number>()
  for (const event of hidden) {
    const kind = kindOf(event)
    kinds[kind] = (kinds[kind] ?? 0) + 1
    if (kind !== 'c') continue
    for (const block of contentOf(event).flatMap(({ content }) => content))
      if (block.type === 'tool_use') tools.set(block.name, (tools.get(block.name) ?? 0) + 1)
  }
  return {
    marker,
    messages: hidden.filter((event) => event.type === 'MessageAppended').length,
    kinds,
    tools: [...tools].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)),
  }
}

/** Returns the visibility of every history entry and configuration at position `at`, by the position of its event. */
export const statesAt = (log: Log, at: number): ReadonlyMap<number, EntryVisibility> =>
  new Map([
    ...configurationsAt(log, at),
    ...full(log, { at, abandoned: true }).map(({ position, status, by = -1 }): [number, EntryVisibility] => [
      position,
      status === 'active'
        ? { state: 'shown' }
        : { state: status === 'abandoned' ? 'abandoned' : 'hidden', by },
    ]),
  ])
