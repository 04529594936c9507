import * as E from 'fp-ts/lib/Either.js'
import { catchTyped, orThrow, run, type Fallible } from '../../result/fallible.ts'
import { pause } from '../../result/timers.ts'
import type { Checkpoint as StorePlace } from '../../store/port.ts'
import { type AnchorResult, anchorCheckpoint } from './check-anchors.ts'
import { isDue, stateAfterLook, type SealPolicy, type PendingSeal } from './due.ts'
import { type LastHeads, ownerOf, streamNamed } from './entries.ts'
import type { SealError } from './errors.ts'
import type { Ledger } from './log.ts'
import { fromPlace, headOf, streamsMovedSince } from './moved-streams.ts'
import {
  appendHeads,
  batchSize,
  contradictionOf,
  isNews,
  loadToSign,
  type SealContext,
  type SealFailure,
} from './seal.ts'

/** Limits and intervals of a sealer. */
export interface SealerPace extends SealPolicy {
  /** Interval between checks of the store, in milliseconds. */
  readonly every: number
  /** Interval between checkpoints given to anchors, in milliseconds. */
  readonly anchorEvery: number
}

/** Event reported by a sealer. */
export type SealerEvent =
  | { readonly type: 'sealed'; readonly sealed: number; readonly size: number }
  | ({ readonly type: 'anchored' } & AnchorResult)
  /** A conversation contradicts its ledger entries, which means that it was rewritten. Reported once for each head. */
  | ({ readonly type: 'refused' } & SealFailure)
  | { readonly type: 'failed'; readonly error: SealError }

const minute = 60_000
export const defaultPace: SealerPace = {
  quiet: minute,
  events: 100,
  longest: 10 * minute,
  every: 5_000,
  anchorEvery: 10 * minute,
}

/** Tags of errors that a retry may resolve, for example because the database was unavailable or another sealer appended first. */
const passing: ReadonlySet<SealError['_tag']> = new Set([
  'Conflict',
  'OutcomeUnknown',
  'StoreBusy',
  'StoreUnavailable',
  'AnchorFailed',
])

interface State {
  readonly ledger: Ledger
  /** Last sealed event of each stream; updated with every batch that is sealed. */
  readonly sealed: LastHeads
  /** Reason for the last refusal of a stream, with the refused head, by stream name. */
  readonly refused: Map<string, string>
  /** Place in the store up to which changes were read. */
  readonly place: StorePlace | undefined
  /** Streams to seal, by stream name, longest pending first. */
  readonly pending: ReadonlyMap<string, PendingSeal>
}

/**
 * Follows the store and seals conversations as they become quiet, until the signal aborts; then the anchors are given the last
 * checkpoint, within ten seconds. It never blocks an append, and starts from
 * the place recorded in the ledger. Fails with errors that a retry cannot resolve, such as `AnchorAhead`.
 */
export async function* sealOn(
  sealing: SealContext,
  pace: SealerPace,
  signal: AbortSignal,
  tell: (event: SealerEvent) => void,
): Fallible<SealError, void> {
  let state: State | undefined
  let anchoredAt = -Infinity
  /** Number of ledger entries that each anchor has seen, by anchor name. */
  const seen = new Map<string, number>()
  /** Number of ledger entries that each anchor was given, even if it refused them, by anchor name. */
  const offered = new Map<string, number>()
  const give = async (ledger: Ledger, given = seen): Promise<void> => {
    const lacking = sealing.anchors.filter(({ name }) => (given.get(name) ?? 0) < ledger.edge.size)
    if (lacking.length === 0) return
    anchoredAt = Date.now()
    for (const anchored of await anchorCheckpoint({ ...sealing, anchors: lacking }, ledger)) {
      offered.set(anchored.anchor, ledger.edge.size)
      if (!anchored.error) seen.set(anchored.anchor, ledger.edge.size)
      tell({ type: 'anchored', ...anchored })
    }
  }
  while (!signal.aborted) {
    const next = await run(round(sealing, pace, state, signal, tell))
    if (E.isRight(next)) {
      state = next.right
      if (Date.now() - anchoredAt >= pace.anchorEvery) await give(state.ledger)
    } else {
      if (!passing.has(next.left._tag)) return yield next.left
      if (next.left._tag !== 'Conflict') tell({ type: 'failed', error: next.left })
      state = undefined
    }
    await pause(pace.every, signal)
  }
  // What was sealed since would stay exposed until the next sealer starts.
  if (!state) return
  const done = new AbortController()
  await Promise.race([
    give(state.ledger, offered).finally(() => done.abort()),
    pause(lastGiving, done.signal),
  ])
}

/** Maximum time for giving the last checkpoint to the anchors when a sealer ends, in milliseconds. */
const lastGiving = 10_000

/** Reads the changes in the store once and seals everything that is due, without pausing between batches. */
async function* round(
  sealing: SealContext,
  pace: SealPolicy,
  before: State | undefined,
  signal: AbortSignal,
  tell: (event: SealerEvent) => void,
): Fallible<SealError, State> {
  const state = before ?? (yield* begun(sealing))
  const { sealed, refused } = state
  const { place, pending: seen } = yield* fromPlace<SealError, State>(state.place, (from) =>
    lookAt(sealing, { ...state, place: from }),
  )
  const now = Date.now()
  const pending = new Map(seen)
  const due: [stream: string, head: PendingSeal][] = []
  for (const [stream, head] of seen) {
    if (!isDue(head, now, pace)) continue
    const { name } = head
    const last = sealed.get(name)
    const message = yield* catchTyped<SealError, string | undefined>(() =>
      contradictionOf(sealing.store, last, head),
    )
    // The stream stays pending, so that the next sealer visits it again.
    if (message !== undefined) {
      if (refused.get(name) !== `${message}\n${head.head}`)
        tell({ type: 'refused', conversation: ownerOf(name), message })
      refused.set(name, `${message}\n${head.head}`)
    } else if (isNews(last, head)) due.push([stream, head])
    else pending.delete(stream)
  }
  let { ledger } = state
  for (let from = 0; from < due.length && !signal.aborted; from += batchSize) {
    const batch = due.slice(from, from + batchSize)
    for (const [stream] of batch) pending.delete(stream)
    const [oldest] = pending.values()
    const heads = batch.map(([, head]) => head)
    ledger = yield* appendHeads(sealing, ledger, heads, oldest ? oldest.since : place)
    for (const { name, revision, head } of heads) sealed.set(name, { revision, head })
    tell({ type: 'sealed', sealed: heads.length, size: ledger.edge.size })
  }
  return { ...state, ledger, place, pending }
}

async function* begun(sealing: SealContext): Fallible<SealError, State> {
  const sealed: LastHeads = new Map()
  const ledger = yield* loadToSign(sealing, sealed)
  return { ledger, sealed, refused: new Map(), place: ledger.after, pending: new Map() }
}

async function* lookAt({ store }: SealContext, state: State): Fallible<SealError, State> {
  const { sealed, place: since, pending: before } = state
  const { place, streams } = yield* streamsMovedSince(store, since)
  const pending = new Map(before)
  const unfinished = [...before.values()]
    .filter((each) => each.isUnfinished)
    .map((each) => streamNamed(each.name))
  const look = async (stream: string): Promise<void> => {
    const head = await orThrow(run(headOf(store, stream)))
    if (typeof head === 'object' && (head.isUnfinished || isNews(sealed.get(head.name), head)))
      pending.set(stream, stateAfterLook(pending.get(stream), head, Date.now(), since))
  }
  yield* catchTyped<SealError, void>(async () => {
    for await (const stream of streams) await look(stream)
    for (const stream of unfinished) await look(stream)
  })
  return { ...state, place, pending }
}
