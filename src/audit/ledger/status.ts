import * as E from 'fp-ts/lib/Either.js'
import { decode } from '../../events/codec.ts'
import { streamOf } from '../../events/ids.ts'
import { isUnproven } from '../../agent/receipts/calls.ts'
import { catchTyped, ok, orThrow, run, type Steps } from '../../result/steps.ts'
import { allPages } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import { anchorsOf } from './check-anchors.ts'
import type { LedgerError } from './errors.ts'
import { type LastHeads, ownerOf } from './entries.ts'
import { lastHeads } from './heads.ts'
import { keyText } from './keys.ts'
import { type Ledger, loadLedger } from './log.ts'
import { fromPlace, headOf, type ChangedStreams, streamsMovedSince } from './moved-streams.ts'
import { lastRound, type PatrolRound } from './patrol.ts'
import { isNews } from './seal.ts'
import { currentKey } from './sign.ts'

/** The extent of the ledger, and what it does not cover yet. */
export interface LedgerStatus {
  readonly origin: string
  /** The current verifier key. */
  readonly key: string
  /** Time and reason if it replaced another ledger; absent for the first ledger of a store. */
  readonly again?: { readonly time: string; readonly reason: string }
  /** Number of entries. */
  readonly size: number
  /** The last checkpoint, a signed note, and its time; absent if nothing was sealed. */
  readonly checkpoint?: string
  readonly sealed?: string
  /** Last checkpoint given to each anchor, as recorded in this store. */
  readonly anchors: readonly AnchorStatus[]
  /** Number of conversations with unsealed events, their own or those of their turns. */
  readonly unsealed: number
  /**
   * Time since which everything written could still be rewritten unnoticed by someone who can write to the database and has the key;
   * absent if nothing could. `beginning`: the whole log, as no checkpoint was ever kept elsewhere.
   */
  readonly exposedSince?: string
  /** The last completed round of a patrol, and the time at which it ended; absent if there was none. */
  readonly patrolled?: PatrolRound & { readonly time: string }
  /** Number of model replies without a receipt, if counting was requested. */
  readonly withoutReceipt?: number
}

export interface AnchorStatus {
  readonly anchor: string
  readonly size: number
  /** Time of the checkpoint. */
  readonly time: string
}

/**
 * Returns the status of the ledger.
 *
 * @param counts count the replies without a receipt, too, which reads every event
 */
export async function* statusOf(store: EventStore, counts = false): Steps<LedgerError, LedgerStatus> {
  const ledger = yield* loadLedger(store)
  const anchors = yield* lastByAnchor(store, ledger)
  const unsealed = yield* unsealedIn(store, ledger)
  const { origin, begun, reason, edge, checkpoint, sealed } = ledger
  const exposedSince = exposed(ledger, anchors, unsealed)
  const patrolled = yield* catchTyped<LedgerError, Awaited<ReturnType<typeof lastRound>>>(() =>
    lastRound(store),
  )
  const withoutReceipt = counts ? yield* withoutReceiptIn(store) : undefined
  return {
    origin,
    key: keyText(currentKey(ledger)),
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

/** Number of records searched for anchors. */
const most = 1_000

/** Returns the last checkpoint that each anchor was given. */
export async function* lastByAnchor(
  store: EventStore,
  ledger: Ledger,
): Steps<LedgerError, readonly AnchorStatus[]> {
  const last = new Map<string, AnchorStatus>()
  yield* catchTyped<LedgerError, void>(async () => {
    let read = 0
    for await (const { anchor, size, time } of anchorsOf(store, ledger)) {
      if (!last.has(anchor)) last.set(anchor, { anchor, size, time })
      if (++read === most) return
    }
  })
  return [...last.values()]
}

/** Counts model replies without a receipt. Events that cannot be read are ignored. */
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

/** Counts the conversations with unsealed events. */
async function* unsealedIn(store: EventStore, ledger: Ledger): Steps<LedgerError, number> {
  const { streams } = yield* fromPlace<LedgerError, ChangedStreams>(ledger.after, (place) =>
    streamsMovedSince(store, place),
  )
  return yield* catchTyped<LedgerError, number>(async () => {
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
