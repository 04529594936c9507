import * as E from 'fp-ts/lib/Either.js'
import { decode } from '../../events/codec.ts'
import { streamOf } from '../../events/ids.ts'
import { isUnproven } from '../../agent/receipts/calls.ts'
import { caught, ok, orThrow, run, type Steps } from '../../result/steps.ts'
import { allPages } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import { anchoredIn } from './anchoring.ts'
import type { LedgerError } from './errors.ts'
import { type LastHeads, ownerOf } from './entries.ts'
import { lastHeads } from './heads.ts'
import { keyText } from './keys.ts'
import { type Ledger, loadLedger } from './log.ts'
import { fromPlace, headOf, type ChangedStreams, movedSince } from './moved.ts'
import { lastRound, type PatrolRound } from './patrol.ts'
import { isNews } from './seal.ts'
import { signingKey } from './sign.ts'

/** How far the ledger is, and what it does not cover yet. */
export interface LedgerStatus {
  readonly origin: string
  /** The verifier key that signs now. */
  readonly key: string
  /** When and why it was begun in place of another one; absent of the first ledger of a store. */
  readonly again?: { readonly time: string; readonly reason: string }
  /** Entries. */
  readonly size: number
  /** The last checkpoint, a signed note, and when it was made; absent if nothing was sealed. */
  readonly checkpoint?: string
  readonly sealed?: string
  /** The last checkpoint that each anchor was given, as this store recorded it. */
  readonly anchors: readonly AnchorStatus[]
  /** Conversations with something that is not sealed: events, or what their turns recorded. */
  readonly unsealed: number
  /**
   * What somebody who can write to the database, and has the key, could still rewrite unseen: everything that was written since this
   * time; absent if nothing. `beginning`: everything there is, as no checkpoint was ever kept elsewhere.
   */
  readonly exposedSince?: string
  /** The last round of a patrol, and when it ended; absent if there was none. */
  readonly patrolled?: PatrolRound & { readonly time: string }
  /** Replies of models without a receipt, if they were to be counted. */
  readonly withoutReceipt?: number
}

export interface AnchorStatus {
  readonly anchor: string
  readonly size: number
  /** When the checkpoint was made. */
  readonly time: string
}

/** @param counts whether to count the replies without a receipt, for which every event is read */
export async function* statusOf(store: EventStore, counts = false): Steps<LedgerError, LedgerStatus> {
  const ledger = yield* loadLedger(store)
  const anchors = yield* lastByAnchor(store, ledger)
  const unsealed = yield* unsealedIn(store, ledger)
  const { origin, begun, reason, edge, checkpoint, sealed } = ledger
  const exposedSince = exposed(ledger, anchors, unsealed)
  const patrolled = yield* caught<LedgerError, Awaited<ReturnType<typeof lastRound>>>(() => lastRound(store))
  const withoutReceipt = counts ? yield* withoutReceiptIn(store) : undefined
  return {
    origin,
    key: keyText(signingKey(ledger)),
    ...(reason !== undefined && { again: { time: begun, reason } }),
    size: edge.size,
    ...(checkpoint !== undefined && { checkpoint }),
    ...(sealed !== undefined && { sealed }),
    anchors,
    unsealed,
    ...(exposedSince !== undefined && { exposedSince }),
    ...(patrolled && { patrolled: patrolled.round }),
    ...(withoutReceipt !== undefined && { withoutReceipt }),
  }
}

const exposed = (
  { edge }: Ledger,
  anchors: readonly AnchorStatus[],
  unsealed: number,
): string | undefined => {
  const newest = anchors.toSorted((a, b) => b.size - a.size || a.time.localeCompare(b.time))[0]
  if (!newest) return edge.size === 0 && unsealed === 0 ? undefined : 'beginning'
  return newest.size === edge.size && unsealed === 0 ? undefined : newest.time
}

/** Anchors that are looked for among so many records. */
const most = 1_000

/** The last checkpoint that each anchor was given. */
export async function* lastByAnchor(
  store: EventStore,
  ledger: Ledger,
): Steps<LedgerError, readonly AnchorStatus[]> {
  const last = new Map<string, AnchorStatus>()
  yield* caught<LedgerError, void>(async () => {
    let read = 0
    for await (const { anchor, size, time } of anchoredIn(store, ledger)) {
      if (!last.has(anchor)) last.set(anchor, { anchor, size, time })
      if (++read === most) return
    }
  })
  return [...last.values()]
}

/** How many replies of models have no receipt. What cannot be read does not count. */
async function* withoutReceiptIn(store: EventStore): Steps<LedgerError, number> {
  let found = 0
  for await (const page of allPages(store, { prefixes: [streamOf('')] }))
    for (const event of yield* ok(page)) {
      const { stream, revision } = event
      if (event.type !== 'MessageAppended' || !event.data.includes('"origin"')) continue
      const decoded = decode(event, { stream, revision, position: revision })
      if (E.isRight(decoded) && isUnproven(decoded.right)) found++
    }
  return found
}

/** Counts the conversations with something that is not sealed. */
async function* unsealedIn(store: EventStore, ledger: Ledger): Steps<LedgerError, number> {
  const { streams } = yield* fromPlace<LedgerError, ChangedStreams>(ledger.after, (place) =>
    movedSince(store, place),
  )
  return yield* caught<LedgerError, number>(async () => {
    const unsealed = new Set<string>()
    let sealed: LastHeads | undefined
    for await (const stream of streams) {
      const head = await orThrow(run(headOf(store, stream)))
      if (typeof head !== 'object') continue
      sealed ??= await orThrow(run(lastHeads(store, ledger)))
      if (isNews(sealed.get(head.name), head)) unsealed.add(ownerOf(head.name))
    }
    return unsealed.size
  })
}
