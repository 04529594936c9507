import * as E from 'fp-ts/lib/Either.js'
import { streamOf } from '../../events/ids.ts'
import { loadLineage, originOf } from '../../conversation/reading/lineage.ts'
import { caught, run, type Steps } from '../../result/steps.ts'
import { isLoss } from '../../store/errors.ts'
import type { EventStore } from '../../store/port.ts'
import { extentOf } from '../../store/whole/whole-writes.ts'
import { brokenAt } from './chain.ts'
import type { LedgerError } from './errors.ts'
import { differenceFrom, type HeadEntry, headsOf } from './heads.ts'
import { keyText } from './keys.ts'
import { loadLedger } from './log.ts'
import { signingKey } from './sign.ts'
import { type AnchorStatus, lastByAnchor } from './status.ts'

/** What the ledger has of a conversation, and whether that is still so. */
export interface SealStatus {
  readonly origin: string
  /** The verifier key that signs now. */
  readonly key: string
  /** Entries of the whole ledger. */
  readonly size: number
  /** When the last checkpoint was made; absent if nothing was sealed. */
  readonly sealed?: string
  /** The last checkpoint that each anchor was given. */
  readonly anchors: readonly AnchorStatus[]
  /** Position of the conversation's own first event: those before it are of what it was forked from. */
  readonly first: number
  /** What was sealed of the conversation, the newest first: the last 100 at most. */
  readonly heads: readonly SealedHead[]
}

/** An entry of the ledger for a conversation, and whether that still holds. */
export interface SealedHead extends HeadEntry {
  /** Of the event in the conversation. */
  readonly position: number
  /** `changed`: the event there now, or one before it, is not the one that was sealed; `gone`: there is none, it cannot be read, or does not count. */
  readonly state: 'same' | 'changed' | 'gone'
}

const most = 100
const gone = { state: 'gone' } as const

/** Where the ledger has a conversation. Searches the ledger backwards, and reads the conversation through what was sealed last. */
export async function* standingOf(store: EventStore, conversation: string): Steps<LedgerError, SealStatus> {
  const ledger = yield* loadLedger(store)
  const anchors = yield* lastByAnchor(store, ledger)
  const read = await loadLineage(store, conversation)
  if (E.isLeft(read) && read.left._tag !== 'ConversationNotFound' && !isLoss(read.left))
    return yield read.left
  const lineage = E.isRight(read) ? (read.right ?? []) : []
  const first = lineage[0]?.offset ?? (yield* beginningOf(store, conversation))
  const extent = await run(extentOf(store, streamOf(conversation)))
  const end = E.isRight(extent) ? extent.right.most : Infinity
  const found = yield* caught<LedgerError, readonly SealedHead[]>(async () => {
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
    : yield* caught<LedgerError, number>(() => brokenAt(store, lineage, through))
  const heads = found.map((head) =>
    head.state === 'same' && head.position >= broken ? { ...head, state: 'changed' as const } : head,
  )
  const { origin, edge, sealed } = ledger
  const key = keyText(signingKey(ledger))
  return { origin, key, size: edge.size, ...(sealed !== undefined && { sealed }), anchors, first, heads }
}

/** The position of a conversation's own first event, whatever became of what it was forked from; 0 if it cannot be read. */
async function* beginningOf(store: EventStore, conversation: string): Steps<LedgerError, number> {
  const stream = streamOf(conversation)
  const read = await store.read({ stream, from: 0, direction: 'forwards', limit: 1 })()
  if (E.isLeft(read)) return isLoss(read.left) ? 0 : yield read.left
  const from = read.right[0] ? originOf(read.right[0]) : E.right(undefined)
  return E.isRight(from) && from.right ? from.right.position + 1 : 0
}
