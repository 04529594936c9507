import { type Diff, differenceOf, missingItems } from '../../projections/diff.ts'
import type { Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../../store/errors.ts'
import { loadEffective } from './load.ts'
import { loadNewest } from './newest.ts'
import type { Reader } from './reader.ts'

/**
 * Compares the effective histories at two positions. Besides these histories, reads only the events from the first item that is no
 * longer shown.
 */
export async function* loadDiff(reading: Reader, from: number, to: number): Fallible<StoreError, Diff> {
  const before = (yield* loadEffective(reading, from, false)).effective.items
  const after = (yield* loadEffective(reading, to, false)).effective.items
  const gone = missingItems({ before, after })
    .map(({ position }) => position)
    .filter((position) => position <= to)
    .toSorted((one, other) => one - other)
  const [first, last] = [gone[0], gone.at(-1)]
  if (first === undefined || last === undefined) return differenceOf({ from, to, before, after }, [])
  const range = { at: to, from: first, before: last + 1, last: Infinity, abandoned: true }
  const fates = yield* loadNewest(reading, range)
  return differenceOf({ from, to, before, after }, fates)
}
