import * as E from 'fp-ts/lib/Either.js'
import { caught, orThrow, run, type Steps } from '../result/steps.ts'
import { pause } from '../result/timers.ts'
import { streamOf } from '../events/ids.ts'
import type { Checkpoint as StorePlace } from '../store/port.ts'
import { type Anchored, anchorCheckpoint } from './anchoring.ts'
import { isDue, looked, type Pace, type Pending } from './due.ts'
import type { SealError } from './errors.ts'
import type { Ledger } from './log.ts'
import { headOf, movedSince } from './moved.ts'
import { appendHeads, batchSize, isNews, loadToSign, type Sealing } from './seal.ts'

/** How a sealer works. */
export interface SealerPace extends Pace {
  /** Milliseconds between two looks at the store. */
  readonly every: number
  /** Milliseconds between two checkpoints that anchors get. */
  readonly anchorEvery: number
}

/** What a sealer did. */
export type SealerEvent =
  | { readonly type: 'sealed'; readonly sealed: number; readonly size: number }
  | ({ readonly type: 'anchored' } & Anchored)
  | { readonly type: 'failed'; readonly error: SealError }

const minute = 60_000
export const defaultPace: SealerPace = {
  quiet: minute,
  events: 100,
  longest: 10 * minute,
  every: 5_000,
  anchorEvery: 10 * minute,
}

/** What another attempt may change: the database is away, another sealer was faster. */
const passing: ReadonlySet<SealError['_tag']> = new Set([
  'Conflict',
  'OutcomeUnknown',
  'StoreBusy',
  'StoreUnavailable',
  'AnchorFailed',
])

interface State {
  readonly ledger: Ledger
  /** The store was read up to there. */
  readonly place: StorePlace | undefined
  /** By stream, the one first that is pending longest. */
  readonly pending: ReadonlyMap<string, Pending>
}

/**
 * Follows the store and seals conversations as they come to rest, until the signal aborts. It never stands in the way of an append, and
 * continues where the ledger says. Ends with an error that another attempt would not change, such as `AnchorAhead`.
 */
export async function* sealOn(
  sealing: Sealing,
  pace: SealerPace,
  signal: AbortSignal,
  tell: (event: SealerEvent) => void,
): Steps<SealError, void> {
  let state: State | undefined
  let anchoredAt = -Infinity
  /** How many entries each anchor has seen, by its name. */
  const seen = new Map<string, number>()
  while (!signal.aborted) {
    const next = await run(round(sealing, pace, state, signal, tell))
    if (E.isRight(next)) {
      state = next.right
      const { ledger } = state
      const lacking = sealing.anchors.filter(({ name }) => (seen.get(name) ?? 0) < ledger.edge.size)
      if (lacking.length > 0 && Date.now() - anchoredAt >= pace.anchorEvery) {
        anchoredAt = Date.now()
        for (const anchored of await anchorCheckpoint(sealing, ledger, lacking)) {
          if (!anchored.error) seen.set(anchored.anchor, ledger.edge.size)
          tell({ type: 'anchored', ...anchored })
        }
      }
    } else {
      if (!passing.has(next.left._tag)) return yield next.left
      if (next.left._tag !== 'Conflict') tell({ type: 'failed', error: next.left })
      state = undefined
    }
    await pause(pace.every, signal)
  }
}

/** Looks at the store once, and seals all that is due, without a pause between batches. */
async function* round(
  sealing: Sealing,
  pace: Pace,
  before: State | undefined,
  signal: AbortSignal,
  tell: (event: SealerEvent) => void,
): Steps<SealError, State> {
  const state = before ?? (yield* begun(sealing))
  const { place, pending: seen, ledger: loaded } = yield* lookAt(sealing, state)
  const now = Date.now()
  const due = [...seen].filter(([, pending]) => isDue(pending, now, pace))
  const pending = new Map(seen)
  let ledger = loaded
  for (let from = 0; from < due.length && !signal.aborted; from += batchSize) {
    const batch = due.slice(from, from + batchSize)
    for (const [stream] of batch) pending.delete(stream)
    const [oldest] = pending.values()
    const heads = batch.map(([, head]) => head)
    ledger = yield* appendHeads(sealing, ledger, heads, oldest ? oldest.since : place)
    tell({ type: 'sealed', sealed: heads.length, size: ledger.edge.size })
  }
  return { ledger, place, pending }
}

async function* begun(sealing: Sealing): Steps<SealError, State> {
  const ledger = yield* loadToSign(sealing)
  return { ledger, place: ledger.after, pending: new Map() }
}

async function* lookAt(
  { store }: Sealing,
  { ledger, place: since, pending: before }: State,
): Steps<SealError, State> {
  const { place, streams } = yield* movedSince(store, since)
  const pending = new Map(before)
  const unfinished = [...before.values()]
    .filter((each) => each.isUnfinished)
    .map((each) => streamOf(each.conversation))
  const look = async (stream: string): Promise<void> => {
    const head = await orThrow(run(headOf(store, stream)))
    if (typeof head === 'object' && (head.isUnfinished || isNews(ledger, head)))
      pending.set(stream, looked(pending.get(stream), head, Date.now(), since))
  }
  yield* caught<SealError, void>(async () => {
    for await (const stream of streams) await look(stream)
    for (const stream of unfinished) await look(stream)
  })
  return { ledger, place, pending }
}
