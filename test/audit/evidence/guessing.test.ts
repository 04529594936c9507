import { describe, expect, it } from 'vitest'
import { hasDigest } from '../../../src/agent/receipts/receipt-digest.ts'
import { itemPrintsOf } from '../../../src/agent/receipts/item-prints.ts'
import { fingerprintsIn } from '../../../src/agent/receipts/receipt-blocks.ts'
import { receiptOf } from '../../../src/agent/receipts/receipt.ts'
import { requestOf } from '../../../src/agent/receipts/request.ts'
import { hashOf } from '../../../src/events/codec.ts'
import type { ConversationEvent, Receipt } from '../../../src/events/events.ts'
import { effective } from '../../../src/projections/effective.ts'
import { right } from '../../support/either.ts'
import { assistant, eventAt, text, user } from '../../support/log.ts'
import { saltOf } from '../../support/receipts.ts'

// Somebody has everything but the content and the salt of one withheld message, knows its form, and tries what it may have been.

const said = (code: number): string => `My code is ${String(code).padStart(3, '0')}.`
const candidates = Array.from({ length: 1_000 }, (_, code) => code)
const withheld = 1
const options = { renderer: 2, cache: '5m' } as const

type Salts = (position: number) => string | undefined

const eventWith = (event: ConversationEvent, salt: string | undefined): ConversationEvent => ({
  ...event,
  metadata: { ...event.metadata, salt },
})

/** The history with this code in the withheld message, up to the request that comes after it. */
const historyWith = (code: number, salts: Salts) =>
  effective(
    [user('Hello.'), user(said(code)), assistant('Noted.'), user('Which was it?')].map((event, position) =>
      eventWith(eventAt(event, position), salts(position)),
    ),
  )

const receiptWith = (code: number, salts: Salts): Receipt => {
  const now = historyWith(code, salts)
  return receiptOf(now, right(requestOf(now, options)), options)
}

/** The codes of which the receipt, or the hash of the event, says that they are right. */
const confirmed = (receipt: Receipt, hash: string, known: Salts): readonly number[] =>
  candidates.filter((code) => {
    const now = historyWith(code, known)
    const isSent = hasDigest(receipt, now, right(requestOf(now, options)))
    // The first two prints are of a configuration, which there is not.
    const prints = itemPrintsOf(now).slice(12)
    const isPrint = !prints.startsWith('-') && prints === fingerprintsIn(receipt, () => undefined)?.slice(12)
    return isSent || isPrint || hashOf(storedWith(code, known(withheld))) === hash
  })

const storedWith = (code: number, salt: string | undefined) => ({
  id: 'known',
  type: 'MessageAppended',
  data: JSON.stringify({ role: 'user', content: [text(said(code))] }),
  metadata: JSON.stringify({ ...(salt !== undefined && { salt }), schema: 1, prev: null }),
})

describe('a withheld message of a known form', () => {
  const code = 417
  const salts: Salts = (position) => saltOf(`${position}`)

  it('is not found again with the salts of all other events, neither by its hash nor by a receipt', () => {
    const receipt = receiptWith(code, salts)
    const hash = hashOf(storedWith(code, salts(withheld)))
    const others: Salts = (position) => (position === withheld ? undefined : salts(position))
    expect(confirmed(receipt, hash, others)).toEqual([])
    const guessed: Salts = (position) => saltOf(position === withheld ? 'another' : `${position}`)
    expect(confirmed(receipt, hash, guessed)).toEqual([])
  })

  it('is found again by whoever has its salt, and where nothing has a salt, as 0.1.0 wrote it', () => {
    expect(confirmed(receiptWith(code, salts), '', salts)).toEqual([code])
    expect(confirmed({ ...receiptWith(code, salts), digest: '' }, '', salts)).toEqual([code])
    const none: Salts = () => undefined
    expect(confirmed(receiptWith(code, none), '', none)).toEqual([code])
    expect(
      confirmed({ ...receiptWith(code, none), digest: '' }, hashOf(storedWith(code, undefined)), none),
    ).toEqual([code])
  })
})
