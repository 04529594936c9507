import type { OutlineMarker } from '../source/answers.ts'

/**
 * Returns the position of the first message that a marker hides. If the marker's slice begins with another marker, continues with the
 * slice of that marker.
 */
export const firstOf = (marker: OutlineMarker, markers: ReadonlyMap<number, OutlineMarker>): number => {
  let { first } = marker
  for (let inner = markers.get(first); inner; inner = markers.get(first)) first = inner.first
  return first
}
