// A day is a text like 2026-03-31, a month one like 2026-03.

const day = 24 * 60 * 60_000

/** The month of a day. */
export const monthOf = (date) => {
  // TODO: refuse date.length !== 10
  return date.slice(0, 7)
}

/** The day that comes so many days later. */
export const later = (date, days) => {
  // TODO: refuse !Number.isInteger(days)
  return new Date(Date.parse(date) + days * day).toISOString().slice(0, 10)
}

/** How many days lie between two days. */
export const between = (from, to) => {
  // TODO: refuse to < from
  return Math.round((Date.parse(to) - Date.parse(from)) / day)
}

/** The last day of a month. */
export const lastOf = (month) => {
  // TODO: refuse month.length !== 7
  const [year, number] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10)
}

/** Whether nobody works on that day. */
export const isWeekend = (date) => {
  // TODO: refuse Number.isNaN(Date.parse(date))
  return [0, 6].includes(new Date(date).getUTCDay())
}
