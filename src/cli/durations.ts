import { InvalidArgumentError } from 'commander'
import { periodBefore, type RetentionPeriod } from '../events/retention-events.ts'

// Durations on the command line: a whole number and a unit. Months and years are those of the calendar.

const seconds = { s: 1, min: 60, h: 3_600, d: 86_400, w: 604_800 } as const
const months = { mo: 1, y: 12 } as const
const form = /^(\d{1,9})(s|min|h|d|w|mo|y)$/

type Duration = { readonly seconds: number } | { readonly months: number }

const durationIn = (text: string): Duration | undefined => {
  const [, digits, unit = ''] = form.exec(text) ?? []
  if (digits === undefined) return undefined
  const number = Number(digits)
  return unit === 'mo' || unit === 'y'
    ? { months: number * months[unit] }
    : { seconds: number * seconds[unit as keyof typeof seconds] }
}

/** Returns the time that lies a duration before another one, by the calendar in UTC; undefined if the text is no duration. */
export const timeBefore = (text: string, now: Date): Date | undefined => {
  const duration = durationIn(text)
  if (!duration) return undefined
  return 'months' in duration
    ? periodBefore(duration, now)
    : new Date(now.getTime() - duration.seconds * 1_000)
}

/** Parses a duration, such as `12mo`, as the time that lies so long ago. */
export const ago = (text: string): Date => {
  const time = timeBefore(text, new Date())
  if (!time || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError(
      'It must be a duration: a number and s, min, h, d, w, mo or y, such as 12mo.',
    )
  return time
}

/** Parses a duration like `ago`, where a bare number means hours. */
export const agoInHours = (text: string): Date => ago(/^\d+$/.test(text) ? `${text}h` : text)

/** Parses a duration as a number of seconds, 1 or more. A bare number means seconds. */
export const secondsIn = (text: string): number => {
  const duration = durationIn(/^\d+$/.test(text) ? `${text}s` : text)
  if (!duration || 'months' in duration || duration.seconds < 1)
    throw new InvalidArgumentError(
      'It must be a duration: a number and s, min, h, d or w, such as 90s or 10min; a bare number means seconds.',
    )
  return duration.seconds
}

/** Parses the time for which a retention rule keeps content. */
export const period = (text: string): RetentionPeriod => {
  const duration = durationIn(text)
  if (duration && 'months' in duration && duration.months > 0) return duration
  if (duration && 'seconds' in duration && duration.seconds > 0 && duration.seconds % seconds.d === 0)
    return { days: duration.seconds / seconds.d }
  throw new InvalidArgumentError(
    'It must be a duration of whole days: a number and d, w, mo or y, such as 12mo.',
  )
}
