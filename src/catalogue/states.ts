import type { Covers } from '../events/events.ts'
import type { EventKind } from '../projections/columns.ts'
import type { EntryVisibility } from '../projections/lookups.ts'

// The state of an entry, derived from the few events that change more than the end of the effective history. No other events are read.

/** Event that changes more than the end of the effective history. */
export interface HistoryChange {
  readonly position: number
  readonly kind: EventKind
  /** Position that a rewind returns to, or position of the marker that a restore undoes. */
  readonly target: number
  /**
   * Positions of the first and last messages hidden by the event, including messages hidden by markers inside it; absent if the event
   * hides nothing.
   */
  readonly span?: Covers
}

/** A history change as stored in the index. */
export interface IndexedChange extends Omit<HistoryChange, 'span'> {
  /** Slice that the event covers, if it is a marker that hides anything. */
  readonly covers?: Covers | undefined
}

/**
 * Returns a function that converts a conversation's indexed changes, passed one at a time in ascending order, into changes with a
 * `span`.
 */
export const turner = (): ((mark: IndexedChange) => HistoryChange) => {
  const spans = new Map<number, Covers>()
  return ({ covers, ...turning }) => {
    if (!covers) return turning
    const { first, last } = covers
    const span = { first: spans.get(first)?.first ?? first, last: spans.get(last)?.last ?? last }
    spans.set(turning.position, span)
    return { ...turning, span }
  }
}

/**
 * Returns the visibility of an entry as seen from a position.
 *
 * @param turnings changes of the conversation, in ascending order
 */
export const stateAt = (turnings: readonly HistoryChange[], entry: number, at: number): EntryVisibility => {
  const begin = countThrough(turnings, entry)
  const later = turnings.slice(begin, countThrough(turnings, at))
  const path: HistoryChange[] = []
  let end = at
  for (const turning of later.toReversed()) {
    if (turning.position > end) continue
    if (turning.kind === 'W') end = turning.target
    else path.push(turning)
  }
  if (end < entry) return { state: 'abandoned', by: leftBy(later, entry) }
  const own = turnings[begin - 1]
  const by = hiddenBy(path.toReversed(), own?.position === entry ? own : { position: entry, kind: '-' })
  return by === undefined ? { state: 'shown' } : { state: 'hidden', by }
}

/** Returns the number of history changes up to and including a position. */
const countThrough = (turnings: readonly HistoryChange[], position: number): number => {
  let low = 0
  for (let high = turnings.length; low < high;) {
    const middle = (low + high) >> 1
    if ((turnings[middle]?.position ?? Infinity) <= position) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Returns the position of the event because of which an entry is not shown at the end of a path; undefined if the entry is shown.
 *
 * @param path the changes on the path after the entry, in ascending order
 */
const hiddenBy = (
  path: readonly HistoryChange[],
  entry: Omit<HistoryChange, 'target'>,
): number | undefined => {
  const { position, kind, span = { first: position, last: position } } = entry
  if (kind === 'K') return path.find((turning) => turning.kind === 'K')?.position
  const isMarker = kind === 'C' || kind === 'T'
  // A marker that hides nothing was never shown.
  if (isMarker && !entry.span) return position
  /** Markers that hide the entry, innermost first. Only the outermost one is shown and can be restored. */
  const inside: number[] = []
  for (const turning of path) {
    const { first = Infinity, last = -1 } = turning.span ?? {}
    if (first <= span.first && span.last <= last) inside.push(turning.position)
    if (turning.kind !== 'R') continue
    if (inside.length > 0 && turning.target === inside.at(-1)) inside.pop()
    else if (inside.length === 0 && isMarker && turning.target === position) return turning.position
  }
  return inside[0]
}

/**
 * Returns the position of the last rewind that abandoned an entry.
 *
 * @param later the changes after the entry, in ascending order
 */
const leftBy = (later: readonly HistoryChange[], entry: number): number => {
  const rewinds = later.filter(({ kind }) => kind === 'W')
  /** For each rewind, true if the entry is on the path after the rewind. */
  const isOn: boolean[] = []
  let by = entry
  for (const [index, { position, target }] of rewinds.entries()) {
    const before = Math.min(index, countThrough(rewinds, target)) - 1
    isOn.push(isOn[before] ?? entry <= target)
    if ((isOn[index - 1] ?? true) && !isOn[index]) by = position
  }
  return by
}
