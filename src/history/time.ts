import { isoTime } from '../events/events.ts'

const minute = 60_000
let begun = Number.NaN
let text = ''

/**
 * What `Date.toISOString` writes; the minute is kept from the call before. What runs between two waits for the disk runs with cold
 * caches: written anew, the time of an event takes 3 % of its append.
 */
export const isoTimeOf = (date: Date): string => {
  const time = date.getTime()
  const start = Math.floor(time / minute) * minute
  if (start !== begun) {
    text = new Date(start).toISOString().slice(0, -'00.000Z'.length)
    begun = start
  }
  const digits = String(100_000 + time - start)
  return `${text}${digits.slice(1, 3)}.${digits.slice(3)}Z`
}

/** The time that a file gives for something; what it gives that is no such time counts for nothing. */
export const recordedTime = (time: string | undefined, otherwise: Date): Date => {
  const recorded = time !== undefined && isoTime.test(time) ? new Date(time) : otherwise
  // What looks like a time need not be one: the 99th month.
  return Number.isNaN(recorded.getTime()) ? otherwise : recorded
}
