import type { Outline } from './shapes.ts'

// Where the keys lead, from the outline of what is around a position.

/** What makes a turn: something that a person said. */
const isTurn = (letter: string | undefined): boolean => letter === 'u'
const isMark = (letter: string | undefined): boolean =>
  letter === 'C' || letter === 'T' || letter === 'W' || letter === 'R'
/** A reply of the model. */
const isReply = (letter: string | undefined): boolean => letter === 'a' || letter === 'c'

const tests = { turn: isTurn, mark: isMark, call: isReply } as const
export type StepKind = keyof typeof tests

/** The next position of a kind after (or before) another; undefined if the outline has none. */
export const stepFrom = (
  { from, kinds }: Outline,
  position: number,
  kind: StepKind,
  by: 1 | -1,
): number | undefined => {
  const test = tests[kind]
  for (let index = position - from + by; index >= 0 && index < kinds.length; index += by)
    if (test(kinds[index])) return from + index
  return undefined
}

/** The number of the call that a position belongs to, of those with a receipt: 1 is the first. */
export const callAt = (calls: readonly number[], position: number): number | undefined => {
  const index = calls.findLastIndex((call) => call <= position)
  return calls[index] === position ? index + 1 : undefined
}
