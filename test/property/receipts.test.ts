import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { verifyReceipts } from '../../src/agent/receipts/audit.ts'
import { digestOf } from '../../src/agent/receipts/canonical.ts'
import { itemPrintsOf } from '../../src/agent/receipts/item-prints.ts'
import { fingerprintsOf, partsOf } from '../../src/agent/receipts/fingerprints.ts'
import { compareReceipt } from '../../src/agent/receipts/difference.ts'
import { fingerprintsIn } from '../../src/agent/receipts/receipt-blocks.ts'
import { receiptOptionsIn } from '../../src/agent/receipts/receipt-options.ts'
import { currentRenderer, requestOf, type RequestOptions } from '../../src/agent/receipts/request.ts'
import type { Receipt } from '../../src/events/events.ts'
import { effective } from '../../src/projections/effective.ts'
import type { Log } from '../../src/projections/path.ts'
import { render } from '../../src/projections/render/render.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { storeOn } from '../../src/api/open.ts'
import { right } from '../support/either.ts'
import { histories } from '../support/histories.ts'
import { runs } from '../support/runs.ts'
import { withReceipts } from '../support/receipts.ts'
import { text } from '../support/log.ts'
import { write } from '../support/write.ts'

const options: fc.Arbitrary<RequestOptions> = fc.constantFrom<RequestOptions>(
  { renderer: currentRenderer },
  { renderer: currentRenderer, cache: '5m' },
  { renderer: currentRenderer, cache: '1h', systemMessages: true },
)

const receiptsIn = (log: Log): readonly (readonly [number, Receipt])[] =>
  log.flatMap((event) => {
    const receipt = event.type === 'MessageAppended' ? event.data.origin?.context : undefined
    return receipt ? [[event.position, receipt] as const] : []
  })

/** The prints of every receipt. */
const printsIn = (log: Log): ReadonlyMap<number, string> => {
  const prints = new Map<number, string>()
  for (const [position, receipt] of receiptsIn(log)) {
    const own = fingerprintsIn(receipt, (base) => prints.get(base))
    if (own !== undefined) prints.set(position, own)
  }
  return prints
}

describe('the digest of the request at every position', () => {
  it('is the SHA-256 of its canonical JSON, whatever was hashed before', () => {
    fc.assert(
      fc.property(histories(), options, (log, chosen) => {
        for (const at of log.keys()) {
          const { system, tools, messages } = render(effective(log, at), chosen)
          const whole = canonicalize({ system, tools, messages }) ?? ''
          expect(digestOf({ ...(system && { system }), ...(tools && { tools }), messages })).toBe(
            createHash('sha256').update(whole).digest('hex'),
          )
        }
      }),
      { numRuns: runs(180) },
    )
  })
})

describe('the receipt of every reply', () => {
  it('is of the request that the log makes at its position, and knows the print of every event shown', () => {
    fc.assert(
      fc.property(histories(), options, (plain, chosen) => {
        const log = withReceipts(plain, chosen)
        const prints = printsIn(log)
        for (const [position, receipt] of receiptsIn(log)) {
          const now = effective(log, receipt.position)
          expect(prints.get(position)).toBe(itemPrintsOf(now))
          const rendered = right(requestOf(now, chosen))
          const read = right(receiptOptionsIn(receipt))
          expect(compareReceipt(now, rendered, receipt, read, prints.get(position))).toBeUndefined()
        }
      }),
      { numRuns: runs(180) },
    )
  })

  it('names the first event that is not what it was', () => {
    fc.assert(
      fc.property(histories(), options, fc.nat(), (plain, chosen, picked) => {
        const log = withReceipts(plain, chosen)
        const prints = printsIn(log)
        for (const [position, receipt] of receiptsIn(log)) {
          const now = effective(log, receipt.position)
          const messages = now.items.filter(({ kind }) => kind === 'message')
          const { position: changed } = messages[picked % Math.max(1, messages.length)] ?? {}
          if (changed === undefined) continue
          const other = effective(
            log.map((event) =>
              event.position === changed && event.type === 'MessageAppended'
                ? { ...event, data: { ...event.data, content: [...event.data.content, text('More.')] } }
                : event,
            ),
            receipt.position,
          )
          const read = right(receiptOptionsIn(receipt))
          const rendered = right(requestOf(other, chosen))
          // What is not shown at all (thinking alone, for instance) changes nothing.
          if (JSON.stringify(rendered) === JSON.stringify(right(requestOf(now, chosen)))) continue
          expect(compareReceipt(other, rendered, receipt, read, prints.get(position))).toMatchObject({
            kind: 'event',
            event: changed,
          })
        }
      }),
      { numRuns: runs(120) },
    )
  })

  it('places each block once, in the order of the fingerprints', () => {
    fc.assert(
      fc.property(histories(), options, (log, chosen) => {
        const rendered = render(effective(log), chosen)
        const paths = partsOf(rendered).map(({ path }) => path)
        expect(new Set(paths).size).toBe(paths.length)
        expect(fingerprintsOf(rendered)).toHaveLength(6 * paths.length)
      }),
      { numRuns: runs(120) },
    )
  })
})

describe('the audit of any conversation', () => {
  it('finds every receipt of the log, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(histories(), options, async (plain, chosen) => {
        const log = withReceipts(plain, chosen)
        if (log.length === 0) return
        const store = memoryStore()
        await write(store, 'c', log)
        const verified = await verifyReceipts(storeOn(store, { kind: 'test' }).conversation('c'))()
        expect(right(verified)).toEqual({
          conversation: 'c',
          receipts: receiptsIn(log).length,
          findings: [],
        })
      }),
      { numRuns: runs(120) },
    )
  })
})
