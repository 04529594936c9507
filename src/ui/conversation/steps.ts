import { nameOf } from '../request/call.ts'
import type { ApiSource } from '../source/source.ts'
import type { OutlineResponse, OverviewResponse } from '../source/answers.ts'
import { apiOf } from '../url.ts'

// Targets of the navigation keys, from the loaded part of the outline.

/** Reports whether a letter in the outline stands for a user message, which begins a turn. */
const isTurn = (letter: string | undefined): boolean => letter === 'u'
const isMark = (letter: string | undefined): boolean =>
  letter === 'C' || letter === 'T' || letter === 'W' || letter === 'R'
/** Reports whether a letter in the outline stands for a reply of the model, with or without tool calls. */
const isReply = (letter: string | undefined): boolean => letter === 'a' || letter === 'c'

const isMarker = (letter: string | undefined): boolean => letter === 'C' || letter === 'T'

const tests = { turn: isTurn, mark: isMark, call: isReply, marker: isMarker } as const
export type StepKind = keyof typeof tests | 'error'

/**
 * Finds the next position of a kind after a position, or the previous one if `by` is -1; undefined if the outline contains no such
 * position.
 */
export const stepFrom = (
  { from, kinds, failed }: OutlineResponse,
  position: number,
  kind: StepKind,
  by: 1 | -1,
): number | undefined => {
  if (kind === 'error')
    return by > 0 ? failed.find((one) => one > position) : failed.findLast((one) => one < position)
  const test = tests[kind]
  for (let index = position - from + by; index >= 0 && index < kinds.length; index += by)
    if (test(kinds[index])) return from + index
  return undefined
}

/** Reports whether a rewind precedes a position. While the overview is unknown, assumes that a rewind precedes every position above 0. */
export const mayRewindBefore = (position: number, overview: OverviewResponse | undefined): boolean =>
  position > 0 &&
  (overview?.first.some((first, part) => first < position && (overview.rewinds[part] ?? 0) > 0) ?? true)

/**
 * Fetches the name of the model call that a reply answers; undefined if no such call is known. The outline cannot provide the name,
 * because calls for summaries are numbered too.
 */
export const callNameAt = async (
  source: ApiSource,
  id: string,
  reply: number,
): Promise<string | undefined> => {
  const path = apiOf(id, '/calls', { from: reply, limit: 1 })
  const { items } = await source.get(path)
  const call = items.find(({ position }) => position === reply)
  return call && nameOf(call)
}
