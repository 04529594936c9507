import type { OutlineRewind } from '../source/answers.ts'

// Paths, computed from the rewinds alone: a path consists of a few ranges, regardless of the length of the log.

/** Range of positions, inclusive at both ends. */
export interface PathRange {
  readonly from: number
  readonly to: number
}
/** Range of positions abandoned by the rewind at position `by`. */
export interface Jump extends PathRange {
  readonly by: number
}

/**
 * Returns functions that compute paths from the rewinds in a log.
 *
 * @param rewinds in ascending order of position
 */
export const paths = (rewinds: readonly OutlineRewind[]) => {
  const to = new Map(rewinds.map((rewind) => [rewind.position, rewind.to]))
  /** Returns the index of the last rewind at or before a position; -1 if no such rewind exists. */
  const indexAt = (position: number): number => {
    let low = 0
    let high = rewinds.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((rewinds[middle]?.position ?? 0) <= position) low = middle + 1
      else high = middle
    }
    return low - 1
  }
  const resolve = (position: number): number => {
    let at = position
    for (let next = to.get(at); next !== undefined; next = to.get(at)) at = next
    return at
  }
  /** Returns the ranges of positions on the path at a position, in ascending order. */
  const stretches = (at: number): readonly PathRange[] => {
    const found: PathRange[] = []
    for (let end = resolve(at); end >= 0;) {
      const rewind = rewinds[indexAt(end)]
      found.push({ from: (rewind?.position ?? -1) + 1, to: end })
      end = rewind ? resolve(rewind.position) : -1
    }
    return found.toReversed()
  }
  /**
   * Returns the ranges of positions that are not on the path at a position, in ascending order. Each names the last rewind that
   * abandoned it. The positions of the rewinds themselves are excluded.
   */
  const jumps = (at: number): readonly Jump[] => {
    let rest = without([{ from: 0, to: at }], stretches(at))
    const found: Jump[] = []
    for (let index = indexAt(at); index >= 0 && rest.length > 0; index--) {
      const by = rewinds[index]?.position ?? 0
      const before = stretches(by - 1)
      for (const left of within(rest, before)) found.push({ ...left, by })
      rest = without(rest, before)
    }
    return found.toSorted((one, other) => one.from - other.from)
  }
  return { resolve, stretches, jumps }
}
export type Paths = ReturnType<typeof paths>

/** Reports whether a position is in one of the ranges. */
export const isIn = (stretches: readonly PathRange[], position: number): boolean =>
  stretches.some(({ from, to }) => from <= position && position <= to)

/** Returns the intersection of two ascending lists of ranges. */
export const within = (stretches: readonly PathRange[], others: readonly PathRange[]): readonly PathRange[] =>
  stretches.flatMap(({ from, to }) =>
    others.flatMap((other) => {
      const part = { from: Math.max(from, other.from), to: Math.min(to, other.to) }
      return part.from <= part.to ? [part] : []
    }),
  )

const without = (stretches: readonly PathRange[], others: readonly PathRange[]): readonly PathRange[] =>
  stretches.flatMap(({ from, to }) => {
    const parts: PathRange[] = []
    let next = from
    for (const other of others) {
      if (other.to < next || other.from > to) continue
      if (other.from > next) parts.push({ from: next, to: other.from - 1 })
      next = other.to + 1
    }
    if (next <= to) parts.push({ from: next, to })
    return parts
  })
