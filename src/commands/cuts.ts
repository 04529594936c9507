import type { Effective } from '../projections/effective.ts'
import { toolCallsInSlices } from '../projections/pairs.ts'
import { atOnce, sliceLength, type SliceGenerator } from '../projections/slices.ts'

/**
 * A tool call, with the indices of the items that contain the call and its result. `result` is `Infinity` if the result has not
 * arrived.
 */
export interface SlicedCall {
  readonly id: string
  readonly use: number
  readonly result: number
  readonly isLate: boolean
}

/** Returns the tool calls in the items of a history, paired with their results in the same way as in a request. */
export const callsOf = (effective: Effective): readonly SlicedCall[] => atOnce(callsIn(effective))

/** Computes the same as `callsOf`, in slices of work. */
export function* callsIn(effective: Effective): SliceGenerator<readonly SlicedCall[]> {
  const indices = new Map<number, number>()
  for (const [index, { position }] of effective.items.entries()) {
    indices.set(position, index)
    if ((index + 1) % sliceLength === 0) yield
  }
  const indexOf = (position: number | undefined): number => indices.get(position ?? Infinity) ?? Infinity
  return (yield* toolCallsInSlices(effective)).map(({ id, use, result, isLate = false }) => ({
    id,
    use: indexOf(use),
    result: indexOf(result),
    isLate,
  }))
}

/**
 * Returns the ids of the tool calls that a cut before the item at `index` would separate from their results. A late result may be cut
 * off from its call unless the call itself would be hidden.
 *
 * @param from index of the first item that would be hidden; default: `index`
 */
export const partedCalls = (calls: readonly SlicedCall[], index: number, from = index): readonly string[] =>
  calls
    .filter(({ use, result, isLate }) => use < index && index <= result && (!isLate || from <= use))
    .map(({ id }) => id)
