import type { OutlineMarker } from '../source/answers.ts'
import type { MarkerItem } from './rows.ts'

/**
 * Returns the position of the first message that a marker hides. If the marker's slice begins with another marker, continues with the
 * slice of that marker.
 */
export const firstOf = (marker: OutlineMarker, markers: ReadonlyMap<number, OutlineMarker>): number => {
  let { first } = marker
  for (let inner = markers.get(first); inner; inner = markers.get(first)) first = inner.first
  return first
}

/** Returns the marker at which a conversation opens: its newest visible summary; without one, its newest truncation. */
export const openingMarker = (markers: readonly MarkerItem[]): number | undefined =>
  (markers.findLast(({ kind }) => kind === 'summary') ?? markers.at(-1))?.position
