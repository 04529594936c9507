// Horizontal scale of the ribbon. Positions narrower than 1.4 px would look like noise, and bars wider than 14 px like slabs.

const least = 1.4
const most = 28
/** Maximum width of a bar, in CSS pixels. */
export const widest = 14

export interface Scale {
  /** First and last positions on the ribbon, inclusive. */
  readonly first: number
  readonly last: number
  /** Width of a position, in CSS pixels. */
  readonly step: number
  /**
   * Returns the left edge of a position, in CSS pixels. Its inverse, `at`, returns the position at an x coordinate, clamped to the
   * ribbon.
   */
  readonly x: (position: number) => number
  readonly at: (x: number) => number
}

/**
 * Returns the scale of a ribbon. It covers the whole conversation if that fits, otherwise a window around the position. The window
 * stays in place while the position is well inside it.
 *
 * @param before first position of the previous scale
 */
export const scaleOf = (last: number, width: number, position: number, before?: number): Scale => {
  const count = last + 1
  const room = Math.max(1, Math.floor(width / least))
  const shown = Math.min(count, room)
  const first = shown === count ? 0 : windowAt(position, last, shown, before)
  const step = Math.min(most, width / Math.max(1, shown))
  return {
    first,
    last: first + shown - 1,
    step,
    x: (of) => (of - first) * step,
    at: (x) => Math.min(first + shown - 1, Math.max(first, first + Math.floor(x / step))),
  }
}

const windowAt = (position: number, last: number, shown: number, before: number | undefined): number => {
  const edge = Math.floor(shown / 8)
  const isInside = before !== undefined && position >= before + edge && position <= before + shown - 1 - edge
  const wanted = isInside ? before : position - Math.floor(shown / 2)
  return Math.max(0, Math.min(wanted, last + 1 - shown))
}

/** Returns the index of the part of an overview that contains a position. */
export const bucketAt = (first: readonly number[], position: number): number => {
  // Binary search.
  let low = 0
  let high = first.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((first[middle] ?? Infinity) <= position) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

/** Returns the x coordinate of a position in an overview, as a fraction of the overview's width from 0 to 1. */
export const overviewAt = (first: readonly number[], last: number, position: number): number => {
  // All buckets have the same width.
  const index = bucketAt(first, position)
  const begin = first[index] ?? 0
  const end = first[index + 1] ?? last + 1
  return (index + Math.min(1, (position - begin) / Math.max(1, end - begin))) / Math.max(1, first.length)
}
