import type { Covers } from './event-types.ts'

/** Returns ascending whole numbers as ranges of consecutive ones, both ends inclusive. */
export const rangesOf = (numbers: readonly number[]): readonly Covers[] => {
  const ranges: { first: number; last: number }[] = []
  for (const number of numbers) {
    const range = ranges.at(-1)
    if (range?.last === number - 1) range.last = number
    else ranges.push({ first: number, last: number })
  }
  return ranges
}
