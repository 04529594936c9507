import * as E from 'fp-ts/lib/Either.js'
import { decode } from '../../events/codec.ts'
import { streamOf } from '../../events/ids.ts'
import { isUnproven } from '../../agent/receipts/calls.ts'
import { catchTyped, unwrap, orThrow, run, type Fallible } from '../../result/fallible.ts'
import { allPages } from '../../store/pages.ts'
import type { EventStore } from '../../store/port.ts'
import { type AnchorContext, anchorsOf, checkAnchors } from './check-anchors.ts'
import type { LedgerError } from './errors.ts'
import { type LastHeads, ownerOf } from './entries.ts'
import { lastHeads } from './heads.ts'
import { keyText } from './keys.ts'
import { type Ledger, loadLedger } from './log.ts'
import { fromPlace, headOf, type ChangedStreams, streamsMovedSince } from './moved-streams.ts'
import { lastAlarms, lastRound, type PatrolRound, type RecordedAlarm } from './patrol.ts'
import { isNews } from './seal.ts'
import { currentKey } from './sign.ts'

/** Extent of the ledger, and the amount of data that it does not cover yet. */
export interface LedgerStatus {
  readonly origin: string
  /** The current verifier key. */
  readonly key: string
  /** Time at which this ledger replaced another, and the reason; absent for the first ledger of a store. */
  readonly again?: { readonly time: string; readonly reason: string }
  /** Number of entries in the ledger. */
  readonly size: number
  /** The last checkpoint as a signed note, and its time; absent if nothing was ever sealed. */
  readonly checkpoint?: string
  readonly sealed?: string
  /** Last checkpoint given to each anchor, as recorded in this store. */
  readonly anchors: readonly AnchorStatus[]
  /** Number of conversations with unsealed events in their stream or in the stream of their turns. */
  readonly unsealed: number
  /**
   * Time since which someone with the key and write access to the database could rewrite everything unnoticed; absent if nothing is
   * exposed. `beginning`: the whole log is exposed, because no anchor ever received a checkpoint.
   */
  readonly exposedSince?: string
  /** Reason why sealers sign nothing, such as an anchor that has seen more entries; absent if the given anchors allow it. */
  readonly blocked?: string
  /** Last completed round of a patrol, with the time at which it ended; absent if no round was completed. */
  readonly patrolled?: PatrolRound & { readonly time: string }
  /**
   * The last ten problems that patrols have recorded, newest first; absent if the last round found none. A problem is recorded when it
   * is first found, so the last round may have found an older one.
   */
  readonly alarms?: readonly RecordedAlarm[]
  /** Number of model replies without a receipt; present only if counting was requested. */
  readonly withoutReceipt?: number
}

export interface AnchorStatus {
  readonly anchor: string
  readonly size: number
  /** Time of the checkpoint last given to the anchor. */
  readonly time: string
}

/**
 * Returns the status of the ledger.
 *
 * @param context store, and the anchors with which the ledger is compared
 * @param counts true to also count replies without a receipt, which reads every event
 */
export async function* statusOf(context: AnchorContext, counts = false): Fallible<LedgerError, LedgerStatus> {
  const { store } = context
  const ledger = yield* loadLedger(store)
  const anchors = yield* lastByAnchor(store, ledger)
  const unsealed = yield* unsealedIn(store, ledger)
  const { origin, begun, reason, edge, checkpoint, sealed } = ledger
  const exposedSince = exposed(ledger, anchors, unsealed)
  const checked = await run(checkAnchors(context, ledger))
  const patrolled = yield* catchTyped<LedgerError, Awaited<ReturnType<typeof lastRound>>>(() =>
    lastRound(store),
  )
  const hasProblems = patrolled !== undefined && patrolled.round.problems > 0
  const alarms = hasProblems
    ? yield* catchTyped<LedgerError, readonly RecordedAlarm[]>(() => lastAlarms(store))
    : []
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
    ...(E.isLeft(checked) && { blocked: checked.left.message }),
    ...(patrolled && { patrolled: patrolled.round }),
    ...(alarms.length > 0 && { alarms }),
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

/** Maximum number of records searched for anchors. */
const most = 1_000

/** Returns the last checkpoint given to each anchor. */
export async function* lastByAnchor(
  store: EventStore,
  ledger: Ledger,
): Fallible<LedgerError, readonly AnchorStatus[]> {
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

/** Counts model replies without a receipt, skipping events that cannot be decoded. */
async function* withoutReceiptIn(store: EventStore): Fallible<LedgerError, number> {
  let found = 0
  for await (const page of allPages(store, { prefixes: [streamOf('')] }))
    for (const event of yield* unwrap(page)) {
      const { stream, revision } = event
      if (event.type !== 'MessageAppended' || !event.data.includes('"origin"')) continue
      const decoded = decode(event, { stream, revision, position: revision })
      if (E.isRight(decoded) && isUnproven(decoded.right)) found++
    }
  return found
}

/** Counts the conversations with unsealed events in their stream or in the stream of their turns. */
async function* unsealedIn(store: EventStore, ledger: Ledger): Fallible<LedgerError, number> {
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
