import type { Covers, Segment } from '../events/events.ts'

// The shown content, as a table of contents: markers and runs of messages. A run may include positions of other events, of which
// nothing is shown. A conversation of any length is one run as long as nothing was hidden or rewound.

/** The segments shown at a position. They are modified in place and must not be shared. */
export type ShownSegments = Segment[]

export const isMarker = (segment: Segment): segment is { readonly marker: number } => 'marker' in segment

/** Appends the messages from `first` to `last`, both inclusive, to the segments, extending the last run if they directly follow it. */
export const show = (shown: ShownSegments, first: number, last: number): void => {
  if (first > last) return
  const end = shown.at(-1)
  if (end && !isMarker(end) && end.last === first - 1) shown[shown.length - 1] = { first: end.first, last }
  else shown.push({ first, last })
}

/** A slice of the shown segments, which can be replaced. */
export interface ShownSlice {
  readonly slice: ShownSegments
  /** Replaces the slice by other segments. */
  readonly replace: (by: readonly Segment[]) => void
}

/** Returns the slice of the shown segments between two positions, both inclusive; undefined if the slice is not shown. */
export const sliceShown = (shown: ShownSegments, { first, last }: Covers): ShownSlice | undefined => {
  const [from, to] = [indexOf(shown, first), indexOf(shown, last)]
  const [begin, end] = [shown[from], shown[to]]
  if (!begin || !end || to < from) return undefined
  if (from === to && last < first) return undefined
  const slice = shown.slice(from, to + 1).map((segment, index) =>
    isMarker(segment)
      ? segment
      : {
          first: index === 0 ? first : segment.first,
          last: index === to - from ? last : segment.last,
        },
  )
  return {
    slice,
    replace: (by) => {
      const before = isMarker(begin) || begin.first === first ? [] : [{ first: begin.first, last: first - 1 }]
      const after = isMarker(end) || end.last === last ? [] : [{ first: last + 1, last: end.last }]
      shown.splice(from, to - from + 1, ...before, ...by, ...after)
    },
  }
}

const indexOf = (shown: ShownSegments, position: number): number =>
  shown.findLastIndex((segment) =>
    isMarker(segment) ? segment.marker === position : segment.first <= position && position <= segment.last,
  )

/** Encodes segments as JSON: `[first, last]` for a run of messages, a position for a marker. */
export const encodeShown = (shown: ShownSegments): string =>
  JSON.stringify(shown.map((one) => (isMarker(one) ? one.marker : [one.first, one.last])))

export const decodeShown = (text: string): ShownSegments =>
  (JSON.parse(text) as readonly (number | readonly [number, number])[]).map((one) =>
    typeof one === 'number' ? { marker: one } : { first: one[0], last: one[1] },
  )
