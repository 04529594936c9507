import type { Covers } from '../../../events/events.ts'
import type { Effective } from '../../../projections/effective.ts'
import { coversOf, type Region, regionsOf, truncateSlice } from './regions.ts'
import { sliceOf } from '../../../projections/effective.ts'
import type { ContextLimits } from './settings.ts'
import { countTokens, type TokenCount } from '../tokens/tokens.ts'

/** History after truncating the slices `covers`, with its token count. */
export interface TruncationResult {
  readonly effective: Effective
  readonly count: TokenCount
  readonly covers: readonly Covers[]
}

/** Finds the smallest truncation after which the history fits; if none is enough, truncates everything that may be truncated. */
export const truncation = (
  effective: Effective,
  limits: ContextLimits,
  { count, allowed }: { readonly count: TokenCount; readonly allowed: number },
): TruncationResult => {
  let smallest: TruncationResult = { effective, count, covers: [] }
  for (const keepLast of new Set([limits.keepLast, 1])) {
    smallest = { effective, count, covers: [] }
    for (const region of regionsOf(effective, { ...limits, keepLast })) {
      const before = smallest
      for (const to of cutsOf(region, effective.items.length, limits.fraction)) {
        const cut = hide(before, coversOf(effective, region.from, to))
        if (cut.count.total < smallest.count.total) smallest = cut
        if (smallest.count.total <= allowed) return smallest
      }
    }
  }
  return smallest
}

/**
 * Returns the ends of increasingly long slices that start at the region's beginning: the first slice hides `fraction` of the items, and
 * each longer slice also hides `fraction` of the remaining items.
 */
const cutsOf = ({ from, to, cutAt }: Region, length: number, fraction: number): readonly number[] => {
  const chosen = new Set<number>()
  for (let wished = from; wished < to;) {
    wished += Math.max(1, Math.floor(fraction * (length - wished)))
    chosen.add(cutAt(wished))
  }
  return [...chosen]
}

const hide = (cut: TruncationResult, covers: Covers): TruncationResult => {
  // A truncation of truncations alone changes nothing, and would be refused.
  if (sliceOf(cut.effective, covers).every(({ kind }) => kind === 'truncation')) return cut
  const effective = truncateSlice(cut.effective, covers)
  return { effective, count: countTokens(effective), covers: [...cut.covers, covers] }
}
