import * as E from 'fp-ts/lib/Either.js'
import { caught, ok, orThrow, run, type Steps } from '../result/steps.ts'
import type { Checkpoint as StorePlace, EventStore } from '../store/port.ts'
import { type Anchored, anchorCheckpoint, checkAnchors } from './anchoring.ts'
import type { Anchor } from './anchors.ts'
import { appendEntries, type Writing } from './append.ts'
import { entryText } from './entries.ts'
import type { SealError } from './errors.ts'
import { type Ledger, loadLedger } from './log.ts'
import { changedSince, type Head, headOf, headsByEvents, listed } from './moved.ts'
import type { Nodes } from './nodes.ts'
import { checkSigner } from './sign.ts'

/** A conversation that could not be sealed, and why. */
export interface Unsealable {
  readonly conversation: string
  readonly message: string
}

/** What was sealed. */
export interface SealedNow {
  readonly origin: string
  /** Conversations that were sealed now. */
  readonly sealed: number
  /** Entries of the ledger, all together. */
  readonly size: number
  /** The last checkpoint, a signed note; undefined if nothing was ever sealed. */
  readonly checkpoint: string | undefined
  readonly anchored: readonly Anchored[]
  /** Conversations whose last event cannot be read. */
  readonly unsealable: readonly Unsealable[]
}

export interface Sealing extends Writing {
  readonly nodes: Nodes
  readonly anchors: readonly Anchor[]
}

/** Entries of one event. */
export const batchSize = 1_024
const maxTries = 5

/** Loads the ledger, unless it cannot be signed: with another key, or where an anchor has seen more than there is. */
export async function* loadToSign({ store, signer, nodes, anchors }: Sealing): Steps<SealError, Ledger> {
  for (;;) {
    const ledger = yield* loadLedger(store)
    yield* ok(checkSigner(ledger, signer))
    const checked = await run(checkAnchors(nodes, ledger, anchors))
    if (E.isRight(checked)) return ledger
    // Another sealer may have sealed and anchored more since the ledger was loaded.
    const isBehind = checked.left._tag === 'AnchorAhead'
    if (!isBehind || (yield* loadLedger(store)).revision === ledger.revision) return yield checked.left
  }
}

/** Seals every conversation that was written to since it was sealed last, whether or not somebody is writing. */
export async function* sealNow(sealing: Sealing): Steps<SealError, SealedNow> {
  for (let tries = 1; ; tries++) {
    const done = await run(sealOnce(sealing, yield* loadToSign(sealing)))
    if (E.isRight(done)) return done.right
    // Another sealer was faster: what is left to do, the ledger says.
    if (done.left._tag !== 'Conflict' || tries === maxTries) return yield done.left
  }
}

async function* sealOnce(sealing: Sealing, loaded: Ledger): Steps<SealError, SealedNow> {
  const { store, anchors } = sealing
  const { place, streams } = yield* changedSince(store, loaded.after)
  const unsealable: Unsealable[] = []
  const ledger = yield* caught<SealError, Ledger>(async () => {
    const batches = batching(sealing, loaded)
    const isDone = streams === undefined && (await sealByEvents(store, batches))
    if (!isDone) unsealable.push(...(await sealByStreams(store, batches, place, streams ?? listed(store))))
    return batches.ledger()
  })
  const anchored = await anchorCheckpoint(sealing, ledger, anchors)
  const { origin, edge, checkpoint } = ledger
  return { origin, sealed: edge.size - loaded.edge.size, size: edge.size, checkpoint, anchored, unsealable }
}

interface Batches {
  /** The ledger as it is once all that was flushed is in it. */
  readonly ledger: () => Ledger
  /** Throws a `SealError`. */
  readonly add: (head: Head) => Promise<void>
  /** Everything before that place is sealed then; undefined: it is where it was. Throws a `SealError`. */
  readonly flush: (place: StorePlace | undefined) => Promise<void>
}

/** Until a place is named, whoever is interrupted begins again where it was. */
const batching = (sealing: Sealing, loaded: Ledger): Batches => {
  let ledger = loaded
  let batch: Head[] = []
  const append = async (after: StorePlace | undefined): Promise<void> => {
    const heads = batch
    batch = []
    ledger = await orThrow(run(appendHeads(sealing, ledger, heads, after)))
  }
  return {
    ledger: () => ledger,
    add: async (head) => {
      if (batch.length === batchSize) await append(ledger.after)
      if (isNews(ledger, head)) batch.push(head)
    },
    flush: async (place) => {
      if (batch.length > 0) await append(place ?? ledger.after)
    },
  }
}

/** @returns whether that was everything */
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
): Promise<readonly Unsealable[]> => {
  const unsealable: Unsealable[] = []
  let isUnfinished = false
  for await (const stream of streams) {
    const head = await orThrow(run(headOf(store, stream)))
    if (typeof head === 'string') unsealable.push({ conversation: stream, message: head })
    if (typeof head !== 'object') continue
    isUnfinished ||= head.isUnfinished
    await batches.add(head)
  }
  await batches.flush(isUnfinished ? undefined : place)
  return unsealable
}

/** Whether a head is not known to be in the ledger. */
export const isNews = ({ recent }: Ledger, { conversation, revision }: Head): boolean =>
  revision > (recent.get(conversation) ?? -1)

/** Appends heads as entries, at most `batchSize` of them. */
export async function* appendHeads(
  writing: Writing,
  ledger: Ledger,
  heads: readonly Head[],
  after: StorePlace | undefined,
): Steps<SealError, Ledger> {
  const entries: string[] = []
  for (const { conversation, revision, head } of heads)
    entries.push(yield* ok(entryText({ type: 'head', conversation, revision, head })))
  return yield* appendEntries(writing, ledger, { entries, after })
}
