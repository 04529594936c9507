import * as E from 'fp-ts/lib/Either.js'
import { catchTyped, unwrap, orThrow, run, type Fallible } from '../../result/fallible.ts'
import { despiteConflicts } from '../../store/conflicts.ts'
import type { Checkpoint as StorePlace, EventStore } from '../../store/port.ts'
import { checkHasKeys } from '../../store/seal/store-secret.ts'
import { type AnchorContext, type AnchorResult, anchorCheckpoint, checkAnchors } from './check-anchors.ts'
import { appendEntries, type LedgerWriter } from './append.ts'
import { conversationOf } from '../../events/ids.ts'
import { entryText, type LastHeads, ownerOf, type SealedEvent } from './entries.ts'
import type { SealError } from './errors.ts'
import { differenceFrom, lastHeads } from './heads.ts'
import { type Ledger, loadLedger } from './log.ts'
import {
  streamsChangedSince,
  fromPlace,
  type ChainHead,
  headOf,
  headsByEvents,
  listStreams,
} from './moved-streams.ts'
import { checkSigner } from './sign.ts'

/** A conversation that could not be sealed, with the reason. */
export interface SealFailure {
  readonly conversation: string
  readonly message: string
}

/** Result of sealing. */
export interface SealedNow {
  readonly origin: string
  /** Numbers of conversations (`sealed`) and of turn streams (`turns`) sealed by this call. */
  readonly sealed: number
  readonly turns: number
  /** Total number of entries in the ledger. */
  readonly size: number
  /** The last checkpoint as a signed note; undefined if nothing was ever sealed. */
  readonly checkpoint: string | undefined
  readonly anchored: readonly AnchorResult[]
  /** Conversations that were not sealed because their last event cannot be read or because they contradict their ledger entries. */
  readonly unsealable: readonly SealFailure[]
}

export interface SealContext extends LedgerWriter, AnchorContext {}

/** Maximum number of ledger entries in one event. */
export const batchSize = 1_024
/** Maximum number of attempts when another sealer appends first. Each attempt reloads the ledger. */
const maxTries = 5

/**
 * Loads the ledger. Fails if the signer must not sign it: its key is not the current one, an anchor has seen more entries than the
 * ledger contains, or an anchor has lost checkpoints.
 *
 * @param heads receives the last sealed event of each stream
 */
export async function* loadToSign(sealing: SealContext, heads?: LastHeads): Fallible<SealError, Ledger> {
  const { store, signer } = sealing
  // Without its keys, a sealed event has another hash.
  yield* checkHasKeys(store)
  for (;;) {
    const ledger = yield* loadLedger(store, heads)
    yield* unwrap(checkSigner(ledger, signer))
    const checked = await run(checkAnchors(sealing, ledger))
    if (E.isRight(checked)) return ledger
    // Another sealer may have sealed and anchored more since the ledger was loaded.
    const isBehind = checked.left._tag === 'AnchorAhead'
    if (!isBehind || (yield* loadLedger(store)).revision === ledger.revision) return yield checked.left
  }
}

/** Seals every conversation that was written to since it was last sealed, even if writes are in progress. */
export const sealNow = (sealing: SealContext): Fallible<SealError, SealedNow> =>
  despiteConflicts(async function* (): Fallible<SealError, SealedNow> {
    const ledger = yield* loadToSign(sealing)
    return yield* fromPlace(ledger.after, (after) => sealOnce(sealing, { ...ledger, after }))
  }, maxTries)

async function* sealOnce(sealing: SealContext, loaded: Ledger): Fallible<SealError, SealedNow> {
  const { store } = sealing
  const { place, streams } = yield* streamsChangedSince(store, loaded.after)
  const unsealable: SealFailure[] = []
  const batches = batching(sealing, loaded)
  const ledger = yield* catchTyped<SealError, Ledger>(async () => {
    const isDone = streams === undefined && (await sealByEvents(store, batches))
    if (!isDone)
      unsealable.push(...(await sealByStreams(store, batches, place, streams ?? listStreams(store))))
    unsealable.push(...batches.refused)
    return batches.ledger()
  })
  const anchored = await anchorCheckpoint(sealing, ledger)
  const { origin, edge, checkpoint } = ledger
  const { sealed } = batches
  const turns = edge.size - loaded.edge.size - sealed()
  return { origin, sealed: sealed(), turns, size: edge.size, checkpoint, anchored, unsealable }
}

interface Batches {
  /** Returns the ledger after the batches appended so far. */
  readonly ledger: () => Ledger
  /** Returns the number of conversations sealed so far. */
  readonly sealed: () => number
  /** Conversations that contradict their ledger entries. */
  readonly refused: readonly SealFailure[]
  /** Adds a head to the batch. Throws a `SealError`. */
  readonly add: (head: ChainHead) => Promise<void>
  /**
   * Appends the batch and records that everything before `place` is sealed. If `place` is undefined or a head was refused, the recorded
   * place stays the same, so that the next seal visits these streams again. Throws a `SealError`.
   */
  readonly flush: (place: StorePlace | undefined) => Promise<void>
}

/** Collects heads into batches and appends them. A seal that is interrupted before it records a place starts again from the old one. */
const batching = (sealing: SealContext, loaded: Ledger): Batches => {
  let ledger = loaded
  let batch: ChainHead[] = []
  let last: LastHeads | undefined
  let sealed = 0
  const refused: SealFailure[] = []
  const append = async (after: StorePlace | undefined): Promise<void> => {
    const heads = batch
    batch = []
    ledger = await orThrow(run(appendHeads(sealing, ledger, heads, after)))
    sealed += heads.filter(({ name }) => ownerOf(name) === name).length
  }
  return {
    ledger: () => ledger,
    sealed: () => sealed,
    refused,
    add: async (head) => {
      if (batch.length === batchSize) await append(ledger.after)
      last ??= await orThrow(run(lastHeads(sealing.store, loaded)))
      const before = last.get(head.name)
      if (!isNews(before, head)) return
      const message = await contradictionOf(sealing.store, before, head)
      if (message === undefined) batch.push(head)
      else refused.push({ conversation: ownerOf(head.name), message })
    },
    flush: async (place) => {
      const to = refused.length > 0 ? loaded.after : (place ?? ledger.after)
      // The ledger records no such place yet, for example because it was written by a version that sealed only conversations.
      const isPlace = ledger.checkpoint !== undefined && ledger.after === undefined && to !== undefined
      if (batch.length > 0 || isPlace) await append(to)
    },
  }
}

/**
 * Seals heads found by reading events.
 *
 * @returns true if all streams were covered
 */
const sealByEvents = async (store: EventStore, batches: Batches): Promise<boolean> => {
  const gathering = headsByEvents(store, batches.ledger().after)
  let step = await gathering.next()
  for (; step.done !== true; step = await gathering.next()) {
    for (const head of step.value.heads) await batches.add(head)
    await batches.flush(step.value.place)
  }
  return step.value
}

const sealByStreams = async (
  store: EventStore,
  batches: Batches,
  place: StorePlace | undefined,
  streams: AsyncIterable<string> | Iterable<string>,
): Promise<readonly SealFailure[]> => {
  const unsealable: SealFailure[] = []
  let isUnfinished = false
  for await (const stream of streams) {
    const head = await orThrow(run(headOf(store, stream)))
    if (typeof head === 'string')
      unsealable.push({ conversation: conversationOf(stream) ?? stream, message: head })
    if (typeof head !== 'object') continue
    isUnfinished ||= head.isUnfinished
    await batches.add(head)
  }
  await batches.flush(isUnfinished ? undefined : place)
  return unsealable
}

/** Reports whether a head differs from the last sealed event of its stream. */
export const isNews = (last: SealedEvent | undefined, { revision, head }: ChainHead): boolean =>
  last ? revision !== last.revision || head !== last.head : revision >= 0

/**
 * Returns the reason why a head must not be sealed, or undefined. A head must not be sealed if the stream no longer contains the event
 * that was last sealed, because the seal would confirm a rewritten history. Throws a `StoreError`.
 */
export const contradictionOf = async (
  store: EventStore,
  last: SealedEvent | undefined,
  { name, revision }: ChainHead,
): Promise<string | undefined> => {
  if (!last) return undefined
  const difference =
    revision < last.revision
      ? { message: 'it was sealed up to there, but its last events were removed or no longer count' }
      : await differenceFrom(store, name, last)
  const what = ownerOf(name) === name ? '' : ' in the stream of its turns,'
  return (
    difference &&
    `not sealed because it contradicts the ledger${what} at revision ${last.revision} (${difference.message}): run palimpsest audit verify for details, keep a copy of the store, and restore a backup`
  )
}

/** Appends the ledger entries for at most `batchSize` heads. */
export async function* appendHeads(
  writing: LedgerWriter,
  ledger: Ledger,
  heads: readonly ChainHead[],
  after: StorePlace | undefined,
): Fallible<SealError, Ledger> {
  const entries: string[] = []
  for (const { name, revision, head } of heads)
    entries.push(yield* unwrap(entryText({ type: 'head', name, revision, head })))
  return yield* appendEntries(writing, ledger, { entries, after })
}
