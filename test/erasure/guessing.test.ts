import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { taskConversation } from '../../src/api/conversation.ts'
import { storeOn } from '../../src/api/open.ts'
import { modelCalls } from '../../src/agent/receipts/audit.ts'
import { hasDigest } from '../../src/agent/receipts/receipt-digest.ts'
import { itemPrintsOf } from '../../src/agent/receipts/item-prints.ts'
import { receiptOptionsIn } from '../../src/agent/receipts/receipt-options.ts'
import { requestOf } from '../../src/agent/receipts/request.ts'
import { hashOf } from '../../src/events/codec.ts'
import type { Effective } from '../../src/projections/effective.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { right } from '../support/either.ts'
import { text } from '../support/log.ts'
import { opus, start } from '../support/messages-api/client.ts'
import { scale } from '../support/runs.ts'

// Somebody has the log, the receipts and a bundle from after an erasure, knows the form of the erased texts, and tries all that they
// may have been.

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-guessed-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const said = (code: number): string => `My code is ${String(code).padStart(4, '0')}.`
/** Position of the erased message. */
const secret = 1
const [texts, guesses] = scale >= 10 ? [100, 10_000] : [4, 500]

it(
  'finds none of the erased texts again, neither by hash, digest nor print',
  { timeout: 900_000 },
  async () => {
    const { client } = await start({ reply: () => ({ content: [text('Noted.')] }) })
    const store = storeOn(memoryStore(), { kind: 'test' })
    const found: string[] = []
    for (let n = 0; n < texts; n++) {
      const handle = store.conversation(`c-${n}`)
      const chat = taskConversation(handle)
      const code = (n * 7_919) % guesses
      right(
        await chat.append([
          { role: 'user', content: 'Hello.' },
          { role: 'user', content: said(code) },
        ])(),
      )
      right(await chat.turn({ client, model: opus })())
      right(await chat.erase({ positions: [secret] })())
      expect(right(await chat.verifyReceipts()())).toMatchObject({ receipts: 0, erased: 1, findings: [] })
      const bundle = join(folder, `${n}`)
      right(await chat.evidence({ folder: bundle })())
      const rows: string[] = []
      for await (const { id, type, data, metadata } of chat.stored())
        rows.push(`${id}\n${type}\n${data}\n${metadata}`)
      const shown = readdirSync(bundle).map((name) => readFileSync(join(bundle, name), 'utf8'))
      const known = [...rows, ...shown].join('\n')
      expect(known.includes(said(code))).toBe(false)
      const hashes = new Set(known.match(/[0-9a-f]{64}/g))
      const [id = '', type = '', , metadata = ''] = rows[secret]?.split('\n') ?? []
      const { erased: _, ...rest } = JSON.parse(metadata) as Record<string, unknown>
      for await (const { receipt } of modelCalls(handle)) {
        const history = right(await chat.context({ at: receipt.position })())
        const options = right(receiptOptionsIn(receipt))
        for (let guess = 0; guess < guesses; guess++) {
          // All other texts of the request are known to the adversary, too.
          const now = withText(history, said(guess))
          const isPrint = String(receipt.options['items']).includes(itemPrintsOf(now).slice(-6))
          const data = JSON.stringify({ role: 'user', content: [text(said(guess))] })
          const forms = [data, said(guess), JSON.stringify(text(said(guess)))]
          const all = forms.map((form) => createHash('sha256').update(form).digest('hex'))
          all.push(hashOf({ id, type, data, metadata: JSON.stringify(rest) }))
          const isHash = all.some((hash) => hashes.has(hash))
          if (isHash || isPrint || hasDigest(receipt, now, right(requestOf(now, options))))
            found.push(`${n}: ${guess}`)
        }
      }
    }
    expect(found).toEqual([])
  },
)

/** The history with this text in the erased message. */
const withText = (history: Effective, guess: string): Effective => ({
  ...history,
  items: history.items.map((item) => {
    if (item.position !== secret || item.kind !== 'message') return item
    const { erased: _, ...rest } = item
    return { ...rest, content: [text(guess)] }
  }),
})
