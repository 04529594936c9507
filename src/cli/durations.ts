import { InvalidArgumentError } from 'commander'

// Durations on the command line: a whole number and a unit. Months and years are those of the calendar.

const units = { s: 1, min: 60, h: 3_600, d: 86_400, w: 604_800 } as const
const form = /^(\d{1,6})(s|min|h|d|w|mo|y)$/

/** Returns the time that lies a duration before another one, by the calendar in UTC; undefined if the text is no duration. */
export const timeBefore = (text: string, now: Date): Date | undefined => {
  const [, digits, unit] = form.exec(text) ?? []
  if (digits === undefined || unit === undefined) return undefined
  const number = Number(digits)
  if (unit !== 'mo' && unit !== 'y')
    return new Date(now.getTime() - number * units[unit as keyof typeof units] * 1_000)
  const months = unit === 'y' ? number * 12 : number
  const then = new Date(now)
  then.setUTCMonth(then.getUTCMonth() - months)
  // The month may be shorter: a month before 31 March is the end of February.
  if (then.getUTCDate() !== now.getUTCDate()) then.setUTCDate(0)
  return then
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
