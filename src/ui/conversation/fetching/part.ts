import type { OutlineResponse } from '../../source/answers.ts'

// Ranges of the outline to load.

/** Number of events above which only a part of the outline is fetched, around the current position. */
export const wholeOutline = 20_000
export const part = 8_000
/** Number of events above which a conversation has an overview. */
export const firstLook = 2_000

export const rangeOf = (
  at: number,
  last: number | undefined,
): { readonly from: number; readonly to: number } => {
  if (last !== undefined && last < wholeOutline) return { from: 0, to: last }
  if (last === undefined && at < wholeOutline) return { from: 0, to: Math.max(at, firstLook) + part }
  const from = Math.max(0, Math.floor((at - part / 2) / 1_000) * 1_000)
  return { from, to: Math.min(last ?? Infinity, from + part) }
}

export const covers = ({ from, to }: OutlineResponse, at: number, last: number): boolean => {
  if (last < wholeOutline) return from === 0 && to >= last
  const margin = 1_500
  return (from === 0 || at - from >= margin) && (to >= last || to - at >= margin)
}

export const joinOutlines = (one: OutlineResponse, other: OutlineResponse): OutlineResponse => ({
  ...other,
  from: one.from,
  kinds: one.kinds + other.kinds,
  sizes: [...one.sizes, ...other.sizes],
  tokens: [...one.tokens, ...other.tokens],
  times: [...one.times, ...other.times],
  markers: [...one.markers, ...other.markers],
  rewinds: [...one.rewinds, ...other.rewinds],
  restores: [...one.restores, ...other.restores],
  calls: [...one.calls, ...other.calls],
  failed: [...one.failed, ...other.failed],
  retries: [...one.retries, ...other.retries],
})
