import * as E from 'fp-ts/lib/Either.js'
import { caught, ok, orThrow, run, type Steps } from '../result/steps.ts'
import type { Checkpoint as StorePlace } from '../store/port.ts'
import { type Anchored, anchorCheckpoint, checkAnchors } from './anchoring.ts'
import type { Anchor } from './anchors.ts'
import { appendEntries, type Writing } from './append.ts'
import { entryText } from './entries.ts'
import type { SealError } from './errors.ts'
import { type Ledger, loadLedger } from './log.ts'
import { type Head, headOf, movedSince } from './moved.ts'
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
  const ledger = yield* loadLedger(store)
  yield* ok(checkSigner(ledger, signer))
  yield* checkAnchors(nodes, ledger, anchors)
  return ledger
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
  const { place, streams } = yield* movedSince(sealing.store, loaded.after)
  const unsealable: Unsealable[] = []
  let ledger = loaded
  let batch: Head[] = []
  let isUnfinished = false
  const flush = async (after: StorePlace | undefined): Promise<void> => {
    ledger = await orThrow(run(appendHeads(sealing, ledger, batch, after)))
    batch = []
  }
  yield* caught<SealError, void>(async () => {
    for await (const stream of streams) {
      const head = await orThrow(run(headOf(sealing.store, stream)))
      if (typeof head === 'string') unsealable.push({ conversation: stream, message: head })
      if (typeof head !== 'object') continue
      isUnfinished ||= head.isUnfinished
      if (isNews(ledger, head)) batch.push(head)
      // Until all are sealed, the place is what it was: who is interrupted begins there again.
      if (batch.length === batchSize) await flush(loaded.after)
    }
    if (batch.length > 0) await flush(isUnfinished ? loaded.after : place)
  })
  const anchored = await anchorCheckpoint(sealing, ledger, sealing.anchors)
  const { origin, edge, checkpoint } = ledger
  return { origin, sealed: edge.size - loaded.edge.size, size: edge.size, checkpoint, anchored, unsealable }
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
