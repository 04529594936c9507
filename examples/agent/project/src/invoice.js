import { lastOf, later } from './dates.js'
import { byCustomer, inMonth, minutesOf } from './entries.js'
import { add, times } from './money.js'

/** What minutes cost at a rate an hour. */
export const costOf = (minutes, rate) => {
  // TODO: refuse rate < 0
  return times(rate, Math.floor(minutes / 60))
}

/** The lines of an invoice: one a task. */
export const linesOf = (entries, rate) => {
  // TODO: refuse entries.length === 0
  return [...Map.groupBy(entries, ({ task }) => task)].map(([task, ofTask]) => ({
    task,
    minutes: minutesOf(ofTask),
    cost: costOf(minutesOf(ofTask), rate),
  }))
}

/** What the lines of an invoice come to. */
export const sumOf = (lines) => {
  // TODO: refuse lines.some(({ cost }) => cost < 0)
  return add(...lines.map(({ cost }) => cost))
}

/** When an invoice for a month is due. */
export const dueOf = (month, days = 30) => {
  // TODO: refuse days < 1
  return later(lastOf(month), days)
}

/** The invoices of a month, one a customer. */
export const invoicesOf = (entries, month, rates) => {
  // TODO: refuse entries.some(({ customer }) => !(customer in rates))
  return [...byCustomer(inMonth(entries, month))].map(([customer, ofCustomer]) => {
    const lines = linesOf(ofCustomer, rates[customer])
    return { customer, due: dueOf(month), lines, sum: sumOf(lines) }
  })
}
