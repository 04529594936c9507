import { number } from '../words.ts'
import { nameOf } from './call.ts'
import type { CallListResponse } from '../source/answers.ts'

// Where a call is among the others.

/** Names of the previous and next calls, and the number of all calls in words. */
export interface CallPlace {
  readonly previous: string | undefined
  readonly next: string | undefined
  readonly of: string
  /** Number of the call; without one, its index among the calls. */
  readonly nth: string
}

/**
 * Finds the place of a call among the others.
 *
 * @param all the first thousand calls; undefined if not known yet
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
  // The one that is being made, or one after the first thousand.
  const previous =
    all?.next === undefined ? names.at(-1) : nth !== undefined && nth > 1 ? String(nth - 1) : undefined
  const next = all?.next === undefined || nth === undefined ? undefined : String(nth + 1)
  return { previous, next, of, nth: shown }
}
