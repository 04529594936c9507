import type { Effective } from '../projections/effective.ts'
import { toolCalls } from '../projections/pairs.ts'

/** A tool call with the indices of the items that hold it and its result; `Infinity` for a result that has not come. */
interface Call {
  readonly id: string
  readonly use: number
  readonly result: number
}

/** The tool calls in the items of a history, paired with their results as a request pairs them. */
export const callsOf = (effective: Effective): readonly Call[] => {
  const indices = new Map(effective.items.map(({ position }, index) => [position, index]))
  const indexOf = (position: number | undefined): number => indices.get(position ?? Infinity) ?? Infinity
  return toolCalls(effective).map(({ id, use, result }) => ({
    id,
    use: indexOf(use),
    result: indexOf(result),
  }))
}

/** The calls that a cut before the item at `index` would part from their results. */
export const partedBy = (calls: readonly Call[], index: number): readonly string[] =>
  calls.filter(({ use, result }) => use < index && index <= result).map(({ id }) => id)
