import type { Covers } from '../../../events/events.ts'
import { callsOf, partedCalls } from '../../../commands/cuts.ts'
import { factsOf } from '../../../commands/hide.ts'
import { isTurn } from '../../../commands/state.ts'
import {
  type Effective,
  type Item,
  messageIn,
  sliceOf,
  type TruncationItem,
} from '../../../projections/effective.ts'

/**
 * Items that one marker may hide together, from index `from` up to, but not including, `to`; `from` < `to`.
 *
 * 1. The region includes neither the first messages (the task), nor the user's newest turn, nor the last items.
 * 2. A message that was edited in place counts as a message.
 * 3. No tool call is separated from its result at `from`, at `to`, or at an index returned by `cutAt`.
 */
export interface Region {
  readonly from: number
  readonly to: number
  /** Returns the first index from `index` to `to`, both included, at which a cut separates no tool call from its result. */
  readonly cutAt: (index: number) => number
}

interface Kept {
  readonly keepFirst: number
  readonly keepLast: number
}

/**
 * Returns the regions that may be hidden, in order. If the user's newest turn is between the kept messages at both ends, it separates
 * two regions.
 */
export const regionsOf = (effective: Effective, { keepFirst, keepLast }: Kept): readonly Region[] => {
  const { items } = effective
  const messages = items.flatMap((item, index) => (messageIn(item) ? [index] : []))
  const marker = items.findIndex((item) => !messageIn(item))
  const start = Math.min(keepFirst, marker < 0 ? items.length : marker)
  const end = Math.min(items.length - 1, messages.at(-keepLast) ?? 0)
  const turn = items.findLastIndex(beginsTurn)
  const calls = callsOf(effective)
  const isSafe = (index: number, first = index): boolean => partedCalls(calls, index, first).length === 0
  const region = (first: number, last: number): readonly Region[] => {
    let [from, to] = [first, last]
    while (from < to && !isSafe(from)) from++
    while (from < to && !isSafe(to, from)) to--
    const cutAt = (index: number): number => {
      let cut = Math.min(index, to)
      while (!isSafe(cut, from)) cut++
      return cut
    }
    return from < to ? [{ from, to, cutAt }] : []
  }
  return turn < start || turn >= end ? region(start, end) : [...region(start, turn), ...region(turn + 1, end)]
}

const beginsTurn = (item: Item): boolean => {
  const message = messageIn(item)
  return message !== undefined && isTurn(message)
}

/** Converts a range of item indices (`to` excluded) into a marker's `covers`. */
export const coversOf = ({ items }: Effective, from: number, to: number): Covers => ({
  first: items[from]?.position ?? 0,
  last: items[to - 1]?.position ?? 0,
})

/** Returns the history after a hypothetical truncation of the slice. The layout is not updated, because counting does not need it. */
export const truncateSlice = (effective: Effective, covers: Covers): Effective => {
  const hidden = sliceOf(effective, covers)
  const [first] = hidden
  if (!first) return effective
  const at = effective.at + 1
  const marker: TruncationItem = {
    kind: 'truncation',
    position: at,
    time: first.time,
    ...factsOf(hidden, []),
  }
  const index = effective.items.indexOf(first)
  return { ...effective, at, head: at, items: effective.items.toSpliced(index, hidden.length, marker) }
}
