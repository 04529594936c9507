import { isMarker } from '../events/event-traits.ts'
import { type ConversationEvent, START } from '../events/events.ts'
import { decideFates, type EntryState } from './full.ts'
import { sliceLength } from './slices.ts'

type Marker = Extract<ConversationEvent, { readonly type: 'Condensed' | 'Truncated' }>
type Hidden = readonly number[] | 'nothing' | 'unknown'

/**
 * Computes the states of the newest entries, using only the events of a path from position `first` on. Messages are shown in order of
 * position, and a marker takes the place of the first message that it hides, so these events nearly always determine the entries that a
 * marker hides. Returns undefined if they do not. Runs in slices of work.
 *
 * @param path events of the path, oldest first
 */
export function* newestFates(
  path: readonly ConversationEvent[],
  first: number,
): Generator<void, ReadonlyMap<number, EntryState> | undefined> {
  const fates = new Map<number, EntryState>()
  /**
   * Place of each entry in the history, given by the position of the first message that it stands for; `START` for any message before
   * `first`.
   */
  const places = new Map<number, number>()
  const shown = new Set<number>()
  for (const [index, event] of path.entries()) {
    if ((index + 1) % sliceLength === 0) yield
    const { position } = event
    if (event.type === 'Restored') {
      const { marker } = event.data
      if (places.get(marker) === marker || !shown.delete(marker)) continue
      const back = [...fates].filter(([, { by }]) => by === marker).map(([entry]) => entry)
      for (const entry of back) shown.add(entry)
      decideFates(fates, event, back.map(slot))
    } else if (isMarker(event)) {
      const hidden = hiddenBy(event, { first, places, shown })
      if (hidden === 'unknown') return undefined
      if (hidden === 'nothing') continue
      for (const entry of hidden) shown.delete(entry)
      shown.add(position)
      places.set(position, places.get(event.data.covers.first) ?? START)
      decideFates(fates, event, hidden.map(slot))
    } else if (event.type === 'MessageAppended') {
      shown.add(position)
      places.set(position, position)
      decideFates(fates, event, undefined)
    }
  }
  return fates
}

const slot = (position: number): { readonly position: number } => ({ position })

interface Newest {
  readonly first: number
  readonly places: ReadonlyMap<number, number>
  readonly shown: ReadonlySet<number>
}

/** Returns the newest entries that a marker hides; `nothing` if its slice is not shown, `unknown` if earlier events are needed. */
const hiddenBy = ({ position, data: { view, covers } }: Marker, { first, places, shown }: Newest): Hidden => {
  if (view) {
    const markers = new Set(view.items.map((item) => ('marker' in item ? item.marker : START)))
    const isLeft = (entry: number): boolean =>
      markers.has(entry) ||
      (places.get(entry) === entry &&
        view.items.some((item) => 'first' in item && item.first <= entry && entry <= item.last))
    return markers.has(position) ? [...shown].filter((entry) => !isLeft(entry)) : 'nothing'
  }
  const ends = [covers.first, covers.last]
  if (ends.some((end) => end >= first && !shown.has(end))) return 'nothing'
  if (ends.some((end) => end < first)) return 'unknown'
  if (covers.first === covers.last) return [covers.first]
  const [from = START, to = START] = ends.map((end) => places.get(end))
  if (to === START && from === START) return 'unknown'
  if (to < from) return 'nothing'
  const others = [...shown].filter((entry) => !ends.includes(entry))
  if (from === START && others.some((entry) => places.get(entry) === START)) return 'unknown'
  return [
    ...ends,
    ...others.filter((entry) => {
      const place = places.get(entry) ?? START
      return from <= place && place <= to
    }),
  ]
}
