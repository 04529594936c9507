import { number } from '../words.ts'
import { nameOf } from './call.ts'
import type { CallListResponse } from '../source/answers.ts'

// Place of a call among the calls of its conversation.

/** Names of the previous and next calls, and the total number of calls as text (`of 1,000+`). */
export interface CallPlace {
  readonly previous: string | undefined
  readonly next: string | undefined
  readonly of: string
  /** Number of the call, or its index (from 1) if the call has no number. */
  readonly nth: string
}

/**
 * Finds the calls before and after a call.
 *
 * @param all the first thousand calls; undefined while they are loading
 */
export const placeOf = (name: string, all: CallListResponse | undefined): CallPlace => {
  const names = all?.items.map(nameOf) ?? []
  const index = names.indexOf(name)
  const nth = /^\d+$/.test(name) ? Number(name) : undefined
  const shown = nth === undefined ? (index < 0 ? '' : number(index + 1)) : name
  const of = all ? `of ${number(names.length)}${all.next === undefined ? '' : '+'}` : ''
  if (index >= 0) {
    const beyond = all?.next === undefined || nth === undefined ? undefined : String(nth + 1)
    return { previous: names[index - 1], next: names[index + 1] ?? beyond, of, nth: shown }
  }
  // The call is pending, or it is not among the first thousand.
  const previous =
    all?.next === undefined ? names.at(-1) : nth !== undefined && nth > 1 ? String(nth - 1) : undefined
  const next = all?.next === undefined || nth === undefined ? undefined : String(nth + 1)
  return { previous, next, of, nth: shown }
}
