import type { Covers } from '../../../events/events.ts'
import type { Effective } from '../../../projections/effective.ts'
import { coversOf, type Region, regionsOf, truncateSlice } from './regions.ts'
import { sliceOf } from '../../../projections/effective.ts'
import type { ContextLimits } from './settings.ts'
import { countTokens, type TokenCount } from '../tokens/tokens.ts'

/** History after truncating the slices `covers`, with its token count. */
export interface TruncationStep {
  readonly effective: Effective
  readonly count: TokenCount
  readonly covers: readonly Covers[]
}

/** Finds the smallest truncation after which the history fits; if none is enough, truncates everything that may be truncated. */
export const truncation = (
  effective: Effective,
  limits: ContextLimits,
  { count, allowed }: { readonly count: TokenCount; readonly allowed: number },
): TruncationStep => {
  let smallest: TruncationStep = { effective, count, covers: [] }
  for (const keepLast of new Set([limits.keepLast, 1])) {
    smallest = { effective, count, covers: [] }
    for (const region of regionsOf(effective, { ...limits, keepLast })) {
      const before = smallest
      for (const to of cutsOf(region, effective.items.length, limits.fraction)) {
        const step = hide(before, coversOf(effective, region.from, to))
        if (step.count.total < smallest.count.total) smallest = step
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

const hide = (step: TruncationStep, covers: Covers): TruncationStep => {
  // A truncation of truncations alone changes nothing, and would be refused.
  if (sliceOf(step.effective, covers).every(({ kind }) => kind === 'truncation')) return step
  const effective = truncateSlice(step.effective, covers)
  return { effective, count: countTokens(effective), covers: [...step.covers, covers] }
}
