import { caught, orThrow, run, type Steps } from '../result/steps.ts'
import type { EventStore } from '../store/port.ts'
import { anchoredIn } from './anchoring.ts'
import type { LedgerError } from './errors.ts'
import { keyText } from './keys.ts'
import { type Ledger, loadLedger } from './log.ts'
import { headOf, movedSince } from './moved.ts'
import { isNews } from './seal.ts'
import { signingKey } from './sign.ts'

/** How far the ledger is, and what it does not cover yet. */
export interface LedgerStatus {
  readonly origin: string
  /** The verifier key that signs now. */
  readonly key: string
  /** Entries. */
  readonly size: number
  /** The last checkpoint, a signed note, and when it was made; absent if nothing was sealed. */
  readonly checkpoint?: string
  readonly sealed?: string
  /** The last checkpoint that each anchor was given, as this store recorded it. */
  readonly anchors: readonly AnchorStatus[]
  /** Conversations that were written to since they were sealed. */
  readonly unsealed: number
  /**
   * What somebody who can write to the database, and has the key, could still rewrite unseen: everything that was written since this
   * time; absent if nothing. `beginning`: everything there is, as no checkpoint was ever kept elsewhere.
   */
  readonly exposedSince?: string
}

export interface AnchorStatus {
  readonly anchor: string
  readonly size: number
  /** When the checkpoint was made. */
  readonly time: string
}

export async function* statusOf(store: EventStore): Steps<LedgerError, LedgerStatus> {
  const ledger = yield* loadLedger(store)
  const anchors = yield* lastByAnchor(store, ledger)
  const unsealed = yield* unsealedIn(store, ledger)
  const { origin, edge, checkpoint, sealed } = ledger
  const exposedSince = exposed(ledger, anchors, unsealed)
  return {
    origin,
    key: keyText(signingKey(ledger)),
    size: edge.size,
    ...(checkpoint !== undefined && { checkpoint }),
    ...(sealed !== undefined && { sealed }),
    anchors,
    unsealed,
    ...(exposedSince !== undefined && { exposedSince }),
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

/** How many conversations have events that are not sealed. */
async function* unsealedIn(store: EventStore, ledger: Ledger): Steps<LedgerError, number> {
  const { streams } = yield* movedSince(store, ledger.after)
  return yield* caught<LedgerError, number>(async () => {
    let unsealed = 0
    for await (const stream of streams) {
      const head = await orThrow(run(headOf(store, stream)))
      if (typeof head === 'object' && isNews(ledger, head)) unsealed++
    }
    return unsealed
  })
}
