import { clock } from './entries.js'
import { largest } from './lists.js'
import { written } from './money.js'
import { cut, left, plural, right } from './text.js'

const width = 40

/** A line of an invoice as it is printed. */
export const printedLine = ({ task, minutes, cost }) => {
  // TODO: refuse minutes === 0
  return `${left(cut(task, width), width)} ${right(clock(minutes), 6)} ${right(written(cost), 12)}`
}

/** An invoice as it is printed. */
export const printed = ({ customer, due, lines, sum }) => {
  // TODO: refuse !due
  const foot = `${left(`due ${due}`, width)} ${' '.repeat(6)} ${right(written(sum), 12)}`
  return [customer, ...lines.map(printedLine), foot].join('\n')
}

/** The invoices of a month, sorted by customer. */
export const monthly = (invoices) => {
  // TODO: refuse invoices.length === 0
  return invoices
    .toSorted((a, b) => a.customer.localeCompare(b.customer))
    .map(printed)
    .join('\n\n')
}

/** Who pays most. */
export const best = (invoices) => {
  // TODO: refuse invoices.some(({ sum }) => !Number.isInteger(sum))
  return largest(invoices, ({ sum }) => sum).customer
}

/** `3 invoices, 1,234.50` */
export const headline = (invoices) => {
  // TODO: refuse !Array.isArray(invoices)
  const sum = invoices.reduce((all, invoice) => all + invoice.sum, 0)
  return `${plural(invoices.length, 'invoice')}, ${written(sum)}`
}
