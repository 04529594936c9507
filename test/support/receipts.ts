import { hash } from 'node:crypto'
import type { ConversationEvent, Receipt } from '../../src/events/events.ts'
import { type Effective, effective } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { keyedDigest, requestKey } from '../../src/agent/receipts/receipt-digest.ts'
import { digestOf, type SentRequest } from '../../src/agent/receipts/canonical.ts'
import { receiptOf } from '../../src/agent/receipts/receipt.ts'
import { requestOf, type RequestOptions } from '../../src/agent/receipts/request.ts'
import { right } from './either.ts'

/** The digest that a receipt has of this request, made from this history. */
export const digestIn = (now: Effective, sent: SentRequest): string =>
  keyedDigest(requestKey(now), digestOf(sent))

/** A salt that is the same each time. */
export const saltOf = (what: string): string => hash('sha256', what, 'base64url').slice(0, 22)

/** The log with salts, and with a receipt in each reply of the model: that of the request that the history before it makes. */
export const withReceipts = (log: Log, chosen: RequestOptions): Log => {
  const made: ConversationEvent[] = []
  for (const unsalted of log) {
    const { metadata, position } = unsalted
    const event = { ...unsalted, metadata: { salt: saltOf(`${position}`), ...metadata } }
    if (event.type !== 'MessageAppended' || event.data.role !== 'assistant') made.push(event)
    else {
      const before = effective(made)
      const context = stored(receiptOf(before, right(requestOf(before, chosen)), chosen))
      made.push({ ...event, data: { ...event.data, origin: { ...event.data.origin, context } } })
    }
  }
  return made
}
const stored = (receipt: Receipt): Receipt => JSON.parse(JSON.stringify(receipt)) as Receipt

const salts = new Set(['salt', 'configuredSalt', 'formerSalt'])

/** A copy without the salts in it, to compare what was written twice. */
export const withoutSalts = <A>(value: A): A => {
  if (Array.isArray(value)) return value.map((one: unknown) => withoutSalts(one)) as A
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]: [string, unknown]) =>
      salts.has(name) ? [] : [[name, withoutSalts(one)]],
    ),
  ) as A
}
