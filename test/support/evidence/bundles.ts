import { join } from 'node:path'
import * as fc from 'fast-check'
import { hashOf } from '../../../src/events/codec.ts'
import { exportEvidence, type Evidence } from '../../../src/evidence/export.ts'
import type { EvidenceOptions } from '../../../src/evidence/options.ts'
import type { Log } from '../../../src/projections/path.ts'
import { currentRenderer, type RequestOptions } from '../../../src/receipts/request.ts'
import { storeOn } from '../../../src/api/open.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { Conversation } from '../../../src/conversation/conversation.ts'
import { right } from '../either.ts'
import { writeForked } from '../forked.ts'
import { histories } from '../histories.ts'
import { withReceipts } from '../receipts.ts'
import { type Head, ledgerOf } from './ledger.ts'

// Random conversations, forked and with receipts, sealed in one ledger.

export interface Sealed {
  readonly chat: Conversation
  readonly log: Log
  readonly head: Head
}

const options = fc.constantFrom<RequestOptions>(
  { renderer: currentRenderer },
  { renderer: currentRenderer, cache: '5m' },
  { renderer: currentRenderer, cache: '1h', systemMessages: true },
)

const conversations = fc.record({
  history: histories(25).filter((log) => log.length > 1),
  places: fc.array(fc.nat(40), { maxLength: 3 }),
  chosen: options,
})

/** As many conversations, of this seed. */
export const sealedConversations = async (count: number, seed: number): Promise<readonly Sealed[]> => {
  const events = memoryStore()
  const store = storeOn(events, { kind: 'test' })
  const all: Sealed[] = []
  for (const [n, { history, places, chosen }] of fc
    .sample(conversations, { numRuns: count, seed })
    .entries()) {
    const change = (log: Log): Log => withReceipts(log, chosen)
    const { id, log } = await writeForked(events, history, places, { name: `talk-${n}-`, change })
    const chat = store.conversation(id)
    all.push({ chat, log, head: await headOf(chat) })
  }
  return all
}

const headOf = async (chat: Conversation): Promise<Head> => {
  let head: Head | undefined
  for await (const event of chat.stored({ to: right(await chat.position()()) }))
    head = { conversation: chat.id, revision: event.revision, head: hashOf(event) }
  return head as Head
}

/** Writes the bundle of each, and answers their folders and the key. */
export const exportAll = async (
  sealed: readonly Sealed[],
  folder: string,
  choose: (sealed: Sealed, n: number) => Pick<EvidenceOptions, 'calls' | 'withhold'> = () => ({}),
): Promise<{
  readonly key: string
  readonly folders: readonly string[]
  readonly written: readonly Evidence[]
}> => {
  const heads = sealed.map(({ head }) => head)
  const ledger = await ledgerOf(heads.slice(0, 250), Math.floor(heads.length / 2))
  const folders = sealed.map((_, n) => join(folder, `b${n}`))
  const written: Evidence[] = []
  // Several at once, as each waits for the disk.
  for (let from = 0; from < sealed.length; from += 8)
    written.push(
      ...(await Promise.all(
        sealed.slice(from, from + 8).map(async (one, index) => {
          const n = from + index
          const proof = await ledger.proofOf(one.head)
          const wanted = { folder: folders[n] as string, ledger: proof, ...choose(one, n) }
          return right(await exportEvidence(one.chat, wanted)())
        }),
      )),
    )
  return { key: ledger.pinned, folders, written }
}
