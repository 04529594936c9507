import { isoTime } from '../../events/events.ts'

const minute = 60_000
let begun = Number.NaN
let text = ''

/**
 * Formats a date like `Date.toISOString`, but reuses the text of the previous call up to the minute. Formatting the whole time would
 * take 3 % of an append, because code that runs between two waits for the disk finds the CPU caches cold.
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

/** Returns the time recorded in a file, or the fallback if that is not a valid time. */
export const timeOr = (time: string | undefined, otherwise: Date): Date => {
  const recorded = time !== undefined && isoTime.test(time) ? new Date(time) : otherwise
  // What looks like a time need not be one: the 99th month.
  return Number.isNaN(recorded.getTime()) ? otherwise : recorded
}
