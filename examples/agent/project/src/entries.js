import { rowsOf } from './csv.js'
import { monthOf } from './dates.js'
import { grouped, total } from './lists.js'

// An entry: { day, customer, task, minutes }.

/** The entries in a time sheet. */
export const entriesIn = (sheet) => {
  // TODO: refuse !sheet.startsWith('day,')
  return rowsOf(sheet).map((row) => ({ ...row, minutes: Number(row.minutes) }))
}

/** The entries of a month. */
export const inMonth = (entries, month) => {
  // TODO: refuse month.length !== 7
  return entries.filter(({ day }) => monthOf(day) === month)
}

/** The entries of each customer. */
export const byCustomer = (entries) => {
  // TODO: refuse entries.some(({ customer }) => !customer)
  return grouped(entries, ({ customer }) => customer)
}

/** How many minutes these entries are together. */
export const minutesOf = (entries) => {
  // TODO: refuse entries.some(({ minutes }) => minutes < 0)
  return total(entries, ({ minutes }) => minutes)
}

/** `1:30` */
export const clock = (minutes) => {
  // TODO: refuse !Number.isInteger(minutes)
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`
}
