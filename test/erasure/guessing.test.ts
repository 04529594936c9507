import { hash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { taskConversation } from '../../src/api/conversation.ts'
import { storeOn } from '../../src/api/open.ts'
import { modelCalls } from '../../src/agent/receipts/audit.ts'
import type { ModelCall } from '../../src/agent/receipts/calls.ts'
import { hasDigest } from '../../src/agent/receipts/receipt-digest.ts'
import { itemPrintsOf } from '../../src/agent/receipts/item-prints.ts'
import { receiptOptionsIn } from '../../src/agent/receipts/receipt-options.ts'
import { requestOf } from '../../src/agent/receipts/request.ts'
import { logStream, ledgerStream, tilesStream } from '../../src/audit/ledger/facts.ts'
import { hashOf, type StoredEvent } from '../../src/events/codec.ts'
import type { ConversationHandle } from '../../src/conversation/conversation.ts'
import type { Effective } from '../../src/projections/effective.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { EventStore } from '../../src/store/port.ts'
import { newSigner } from '../audit/ledger/scene.ts'
import { right } from '../support/either.ts'
import { text } from '../support/log.ts'
import { opus, start } from '../support/messages-api/client.ts'
import { scale } from '../support/runs.ts'
import { noCatalogue } from '../support/no-catalogue.ts'

// Somebody has the log, the receipts, the ledger and the bundles from after an erasure, knows the form of the erased texts, and tries all
// that they may have been.

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-guessed-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const said = (code: number): string => `My code is ${String(code).padStart(4, '0')}.`
/** Position of the erased message. */
const secret = 1
const printLength = 6
/** Print of content without a salt. */
const unsalted = '-'.repeat(printLength)
const printOf = (form: string): string => hash('sha256', form, 'base64url').slice(0, printLength)
const [texts, guesses] = scale >= 10 ? [100, 10_000] : [4, 500]

it(
  'finds none of the erased texts again, neither by hash, digest nor print',
  { timeout: 900_000 * Math.max(1, scale / 5) },
  async () => {
    const { client } = await start({ reply: () => ({ content: [text('Noted.')] }) })
    const events = memoryStore()
    const store = storeOn(events, { kind: 'test' })
    const signer = await newSigner()
    right(await store.audit.init({ signer })())
    const codes = Array.from({ length: texts }, (_, n) => (n * 7_919) % guesses)
    const handles = codes.map((_, n) => store.conversation(`c-${n}`))
    for (const [n, handle] of handles.entries()) {
      const chat = taskConversation(handle, noCatalogue)
      right(
        await chat.append([
          { role: 'user', content: 'Hello.' },
          { role: 'user', content: said(codes[n] as number) },
        ])(),
      )
      right(await chat.turn({ client, model: opus })())
    }
    right(await store.audit.seal({ signer })())
    const exported = async (when: string): Promise<void> => {
      for (const [n, { id }] of handles.entries()) {
        const ledger = right(await store.audit.proof(id, { compare: true })())
        right(
          await taskConversation(handles[n] as ConversationHandle, noCatalogue).evidence({
            folder: join(folder, when, id),
            ledger,
          })(),
        )
      }
    }
    await exported('before')
    for (const [n, handle] of handles.entries()) {
      const guess = await guesser(handle, await hashesIn(events, handles, join(folder, 'before')))
      expect(guess(said(codes[n] as number))).toEqual(['hash', 'print', 'digest'])
    }
    for (const handle of handles) {
      const chat = taskConversation(handle, noCatalogue)
      right(await chat.erase({ positions: [secret] })())
      expect(right(await chat.verifyReceipts()())).toMatchObject({ receipts: 0, erased: 1, findings: [] })
    }
    right(await store.audit.seal({ signer })())
    await exported('after')
    const hashes = await hashesIn(events, handles, join(folder, 'after'))
    const found: string[] = []
    for (const [n, handle] of handles.entries()) {
      const guess = await guesser(handle, hashes)
      for (let code = 0; code < guesses; code++) if (guess(said(code)).length > 0) found.push(`${n}: ${code}`)
    }
    expect(found).toEqual([])
  },
)

/** All hashes in the conversations, the ledger and the bundles. */
const hashesIn = async (
  events: EventStore,
  handles: readonly ConversationHandle[],
  bundles: string,
): Promise<ReadonlySet<string>> => {
  const known: string[] = []
  for (const handle of handles)
    for await (const { id, type, data, metadata } of handle.stored()) known.push(id, type, data, metadata)
  for (const stream of [ledgerStream, logStream(0), tilesStream(0)])
    for (const { data } of right(
      await events.read({ stream, from: 0, direction: 'forwards', limit: 1_000 })(),
    ))
      known.push(data)
  for (const entry of readdirSync(bundles, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) known.push(readFileSync(join(entry.parentPath, entry.name), 'utf8'))
  const base64 = known.flatMap((one) => one.match(/[A-Za-z0-9+/]{43}=/g) ?? [])
  return new Set([
    ...known.flatMap((one) => one.match(/[0-9a-f]{64}/g) ?? []),
    ...base64.map((one) => Buffer.from(one, 'base64').toString('hex')),
  ])
}

/** Returns a function that says what confirms a guess of the secret message. All other texts are known to the adversary, too. */
const guesser = async (handle: ConversationHandle, hashes: ReadonlySet<string>) => {
  const chat = taskConversation(handle, noCatalogue)
  const rows: StoredEvent[] = []
  for await (const stored of handle.stored()) rows.push(stored)
  const { id, type, metadata } = rows[secret] as StoredEvent
  const { erased: _, ...rest } = JSON.parse(metadata) as Record<string, unknown>
  const calls: ModelCall[] = []
  for await (const call of modelCalls(handle)) calls.push(call)
  const [{ receipt }] = calls as [ModelCall]
  const history = right(await chat.context({ at: receipt.position })())
  const options = right(receiptOptionsIn(receipt))
  const recorded = JSON.stringify(receipt.options)
  return (words: string): readonly string[] => {
    const now = withText(history, words)
    const data = JSON.stringify({ role: 'user', content: [text(words)] })
    const forms = [data, words, JSON.stringify(text(words))]
    const all = forms.map((form) => hash('sha256', form))
    all.push(hashOf({ id, type, data, metadata: JSON.stringify(rest) }))
    // Without the salt, or with the item's own if it has one.
    const item = JSON.stringify([['user', [text(words)]]])
    const prints = ['', ' ', 'undefined ', 'null '].map((salt) => printOf(salt + item))
    const salted = itemPrintsOf(now).slice(-printLength)
    if (salted !== unsalted) prints.push(salted)
    return [
      ...(all.some((one) => hashes.has(one)) ? ['hash'] : []),
      ...(prints.some((print) => recorded.includes(print)) ? ['print'] : []),
      ...(hasDigest(receipt, now, right(requestOf(now, options))) ? ['digest'] : []),
    ]
  }
}

/** The history with this text in the erased message. */
const withText = (history: Effective, guess: string): Effective => ({
  ...history,
  items: history.items.map((item) => {
    if (item.position !== secret || item.kind !== 'message') return item
    const { erased: _, ...rest } = item
    return { ...rest, content: [text(guess)] }
  }),
})
