import type { ConversationEvent, Receipt } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { receiptOf } from '../../src/agent/receipts/receipt.ts'
import { requestOf, type RequestOptions } from '../../src/agent/receipts/request.ts'
import { right } from './either.ts'

/** The log with a receipt in each reply of the model: that of the request that the history before it makes. */
export const withReceipts = (log: Log, chosen: RequestOptions): Log => {
  const made: ConversationEvent[] = []
  for (const event of log) {
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
