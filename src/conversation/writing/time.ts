import { isoTime } from '../../events/events.ts'

const minute = 60_000
let begun = Number.NaN
let text = ''

/**
 * The same as `Date.toISOString`, with the minute kept from the call before. Code between two waits for the disk runs with cold caches:
 * formatting the whole time would take 3 % of an append.
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
