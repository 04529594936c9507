import type { EventKind } from '../projections/columns.ts'
import { isMessage } from './facts.ts'

/**
 * Counts of the content hidden by a marker, including content hidden by markers inside it: messages, items of each kind, and calls of
 * each tool.
 */
export interface HiddenTally {
  readonly messages: number
  readonly kinds: Readonly<Partial<Record<EventKind, number>>>
  readonly tools: Readonly<Record<string, number>>
}

/** Running tally of shown content, with its estimated tokens. */
export interface TokenSum {
  tokens: number
  messages: number
  readonly kinds: Partial<Record<EventKind, number>>
  readonly tools: Record<string, number>
}

export const noSum = (): TokenSum => ({
  tokens: 0,
  messages: 0,
  kinds: {},
  tools: Object.create(null) as Record<string, number>,
})

export const addTally = (sum: TokenSum, { messages, kinds, tools }: HiddenTally): void => {
  sum.messages += messages
  for (const [kind, count] of Object.entries(kinds) as [EventKind, number][]) addKind(sum, kind, count)
  for (const [name, count] of Object.entries(tools)) sum.tools[name] = (sum.tools[name] ?? 0) + count
}

export const addKind = (sum: TokenSum, kind: EventKind, count = 1): void => {
  sum.kinds[kind] = (sum.kinds[kind] ?? 0) + count
}

export interface SummedColumns {
  readonly kindAt: (index: number) => EventKind
  readonly own: ArrayLike<number>
  readonly tools: () => ReadonlyMap<number, readonly string[]>
}

/**
 * Adds the messages among the events from index `from` to index `to`, both inclusive. Other events are ignored because they are not
 * shown.
 */
export const addMessages = (
  sum: TokenSum,
  { kindAt, own, tools }: SummedColumns,
  from: number,
  to: number,
): void => {
  for (let index = from; index <= to; index++) {
    const kind = kindAt(index)
    if (!isMessage(kind)) continue
    sum.tokens += own[index] ?? 0
    sum.messages++
    addKind(sum, kind)
  }
  for (const [index, names] of tools())
    if (index >= from && index <= to) for (const name of names) sum.tools[name] = (sum.tools[name] ?? 0) + 1
}
