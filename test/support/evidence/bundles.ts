import { join } from 'node:path'
import * as fc from 'fast-check'
import { hashOf } from '../../../src/events/codec.ts'
import { exportEvidence, type Evidence } from '../../../src/audit/evidence/export.ts'
import type { EvidenceOptions } from '../../../src/audit/evidence/options.ts'
import type { Log } from '../../../src/projections/path.ts'
import { currentRenderer, type RequestOptions } from '../../../src/agent/receipts/request.ts'
import { storeOn } from '../../../src/api/open.ts'
import { memoryStore } from '../../../src/store/memory/store.ts'
import type { ConversationHandle } from '../../../src/conversation/conversation.ts'
import { right } from '../either.ts'
import { writeForked } from '../forked.ts'
import { histories } from '../histories.ts'
import { withReceipts } from '../receipts.ts'
import { run } from '../../../src/result/fallible.ts'
import { turnLog } from '../../../src/conversation/beside/turn-log.ts'
import type { TurnFact } from '../../../src/events/turn-events.ts'
import type { EventStore } from '../../../src/store/port.ts'
import { type Head, ledgerOf } from './ledger.ts'

// Random conversations, forked and with receipts, sealed in one ledger.

export interface Sealed {
  readonly chat: ConversationHandle
  readonly log: Log
  /** What is sealed of it: its end, one of its events before that, one of each that it was forked from, and its turns. */
  readonly heads: readonly Head[]
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
    if (n % 3 > 0) await recordTurns(events, id, log)
    all.push({ chat, log, heads: await headsOf(chat) })
  }
  return all
}

/** Somebody decides on a call, and a worker does what is to be done. */
const recordTurns = async (store: EventStore, id: string, log: Log): Promise<void> => {
  const at = log.length - 1
  const facts: readonly TurnFact[] = [
    { type: 'TurnsBegun', data: { at: 0 } },
    { type: 'CallsWaiting', data: { reply: at, calls: ['call_1'], why: 'approval', at } },
    {
      type: 'CallDecided',
      data: { reply: at, call: 'call_1', wait: 1, decision: 'approved', by: 'ann', note: 'It may.', at },
    },
    { type: 'ToolStarted', data: { reply: at, call: 'call_1', tool: 'wipe', effect: 'unsafe', at } },
  ]
  right(await run(turnLog(store, { kind: 'test' }, id).append(facts, -1)))
}

/** Heads to be sealed of a conversation. */
export const headsOf = async (chat: ConversationHandle): Promise<readonly Head[]> => {
  const events: Head[] = []
  let position = 0
  for await (const event of chat.stored({ to: right(await chat.position()()) }))
    events.push({
      name: event.conversation,
      revision: event.revision,
      head: hashOf(event),
      position: position++,
    })
  const turns: Head[] = []
  for await (const event of chat.stored({ turns: true })) {
    const { revision } = event
    turns.push({ name: `stream turns-${chat.id}`, revision, head: hashOf(event), position: revision })
  }
  const own = events.filter(({ name }) => name === chat.id)
  const parents = events.filter(({ name }) => name !== chat.id)
  return [...parents.slice(-1), ...own.slice(0, -1).slice(0, 1), ...own.slice(-1), ...turns.slice(-1)]
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
  const all = sealed.flatMap(({ heads }) => heads)
  // Two forks may have an event of the same parent.
  const heads = all.filter(
    ({ name, revision }, n) => all.findIndex((one) => one.name === name && one.revision === revision) === n,
  )
  const ledger = await ledgerOf(heads, Math.floor(heads.length / 2))
  const folders = sealed.map((_, n) => join(folder, `b${n}`))
  const written: Evidence[] = []
  // Several at once, as each waits for the disk.
  for (let from = 0; from < sealed.length; from += 8)
    written.push(
      ...(await Promise.all(
        sealed.slice(from, from + 8).map(async (one, index) => {
          const n = from + index
          const proof = ledger.proofOf(one.heads)
          const wanted = { folder: folders[n] as string, ledger: proof, ...choose(one, n) }
          return right(await exportEvidence(one.chat, wanted)())
        }),
      )),
    )
  return { key: ledger.pinned, folders, written }
}
