import type { Effective } from '../projections/effective.ts'
import { toolCallsInSlices } from '../projections/pairs.ts'
import { atOnce, sliceLength, type SliceGenerator } from '../projections/slices.ts'

/** A tool call with the indices of the items that hold it and its result; `Infinity` for a result that has not arrived. */
interface Call {
  readonly id: string
  readonly use: number
  readonly result: number
  readonly isLate: boolean
}

/** Returns the tool calls in the items of a history, paired with their results as a request pairs them. */
export const callsOf = (effective: Effective): readonly Call[] => atOnce(callsIn(effective))

/** Does the same as `callsOf`, in slices. */
export function* callsIn(effective: Effective): SliceGenerator<readonly Call[]> {
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
 * Returns the ids of the calls that a cut before the item at `index` would part from their results. A result that came late stands by
 * itself, but is not shown without its call.
 *
 * @param from index of the first item that would be hidden; default: `index`
 */
export const partedCalls = (calls: readonly Call[], index: number, from = index): readonly string[] =>
  calls
    .filter(({ use, result, isLate }) => use < index && index <= result && (!isLate || from <= use))
    .map(({ id }) => id)
