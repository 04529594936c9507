import type { OutlineMarker } from '../source/answers.ts'

/** Returns the first position that a marker covers, at all levels: its slice may begin with another marker. */
export const firstOf = (marker: OutlineMarker, markers: ReadonlyMap<number, OutlineMarker>): number => {
  let { first } = marker
  for (let inner = markers.get(first); inner; inner = markers.get(first)) first = inner.first
  return first
}
