import * as E from 'fp-ts/lib/Either.js'
import { streamOf } from '../../events/ids.ts'
import { loadLineage, originOf } from '../../conversation/reading/lineage.ts'
import { catchTyped, run, type Fallible } from '../../result/fallible.ts'
import { isLoss } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { extentOf } from '../../store/whole/whole-writes.ts'
import { findBreak } from './chain.ts'
import type { LedgerError } from './errors.ts'
import { differenceFrom, type HeadEntry, headsOf } from './heads.ts'
import { keyText } from './keys.ts'
import { loadLedger } from './log.ts'
import { currentKey } from './sign.ts'
import { type AnchorStatus, lastByAnchor } from './status.ts'

/** Ledger entries for a conversation, compared with its events. */
export interface SealStatus {
  readonly origin: string
  /** The current verifier key. */
  readonly key: string
  /** Number of entries in the whole ledger. */
  readonly size: number
  /** Time of the last checkpoint; absent if nothing was ever sealed. */
  readonly sealed?: string
  /** Last checkpoint given to each anchor. */
  readonly anchors: readonly AnchorStatus[]
  /** Position of the conversation's first event after a fork; earlier events belong to the conversation that it was forked from. */
  readonly first: number
  /** Ledger entries for the conversation, newest first, at most 100. */
  readonly heads: readonly SealedHead[]
}

/** A ledger entry for a conversation, compared with the event in the store. */
export interface SealedHead extends HeadEntry {
  /** Position of the event in the conversation. */
  readonly position: number
  /**
   * Result of comparing the entry with the store. `changed`: the event or an earlier event differs from what was sealed; `gone`: the
   * event is missing, cannot be read, or belongs to an incomplete write.
   */
  readonly state: 'same' | 'changed' | 'gone'
}

const most = 100
const gone = { state: 'gone' } as const

/**
 * Finds the ledger entries for a conversation and compares them with its events. Searches the ledger backwards and reads the
 * conversation up to and including its last sealed event.
 */
export async function* sealStatusOf(
  store: EventStore,
  conversation: string,
): Fallible<LedgerError, SealStatus> {
  const ledger = yield* loadLedger(store)
  const anchors = yield* lastByAnchor(store, ledger)
  const read = await loadLineage(store, conversation)
  if (E.isLeft(read) && read.left._tag !== 'ConversationNotFound' && !isLoss(read.left))
    return yield read.left
  const lineage = E.isRight(read) ? (read.right ?? []) : []
  const first = lineage[0]?.offset ?? (yield* beginningOf(store, conversation))
  const extent = await run(extentOf(store, streamOf(conversation)))
  const end = E.isRight(extent) ? extent.right.most : Infinity
  const found = yield* catchTyped<LedgerError, readonly SealedHead[]>(async () => {
    const newest: SealedHead[] = []
    for await (const entry of headsOf(store, ledger, conversation)) {
      const difference = entry.revision > end ? gone : await differenceFrom(store, conversation, entry)
      newest.push({ ...entry, position: first + entry.revision, state: difference?.state ?? 'same' })
      if (newest.length === most) break
    }
    return newest
  })
  const through = found[0]?.position ?? -1
  const broken = E.isLeft(read)
    ? 0
    : yield* catchTyped<LedgerError, number>(() => findBreak(store, lineage, through))
  const heads = found.map((head) =>
    head.state === 'same' && head.position >= broken ? { ...head, state: 'changed' as const } : head,
  )
  const { origin, edge, sealed } = ledger
  const key = keyText(currentKey(ledger))
  return { origin, key, size: edge.size, ...(sealed !== undefined && { sealed }), anchors, first, heads }
}

/**
 * Returns the position of a conversation's first event after a fork, even if the conversation that it was forked from is gone; 0 if the
 * event cannot be read.
 */
async function* beginningOf(store: EventStore, conversation: string): Fallible<LedgerError, number> {
  const stream = streamOf(conversation)
  const read = await store.read({ stream, from: 0, direction: 'forwards', limit: 1 })()
  if (E.isLeft(read)) return isLoss(read.left) ? 0 : yield read.left
  const from = read.right[0] ? originOf(read.right[0]) : E.right(undefined)
  return E.isRight(from) && from.right ? from.right.position + 1 : 0
}
