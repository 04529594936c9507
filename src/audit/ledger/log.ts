import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { StoreError } from '../../store/errors.ts'
import { backwards } from '../../store/pages.ts'
import type { Checkpoint as StorePlace, EventStore, RecordedEvent } from '../../store/port.ts'
import { readCheckpoint } from './checkpoints.ts'
import { type LastHeads, parseEntry, takeOlder } from './entries.ts'
import { type LedgerError, ledgerDamaged, ledgerNotFound } from './errors.ts'
import { ledgerStream, logStream, tilesStream } from './facts.ts'
import { hashBytes, leafHash } from './hashes.ts'
import { parseKey, type VerifierKey } from './keys.ts'
import { dataOf, lastOf } from './stored-facts.ts'
import { type CompletedTile, type Edge, edgeAfter, edgeRoot, emptyEdge, grown } from './tiles.ts'

/** A key and the range of checkpoints that it signs. */
export interface ValidKey {
  readonly key: VerifierKey
  /** Number of entries that a checkpoint must exceed to be signed by this key. */
  readonly after: number
  /** Entry that announced the key, with a checkpoint signed by the previous key; undefined for the first key. */
  readonly rotation?: { readonly index: number; readonly checkpoint: string }
}

/** The current ledger of a store, with the data that a sealer needs to continue it. */
export interface Ledger {
  /** Number of the ledger: the revision of its first event in `ledgerStream`. */
  readonly number: number
  readonly origin: string
  /** Time at which the ledger was begun, and the reason if it replaces another one. */
  readonly begun: string
  readonly reason: string | undefined
  /** Keys in chronological order, at least one; the last one signs. */
  readonly keys: readonly ValidKey[]
  /** Last revision of the ledger's log; -1 before anything was sealed. */
  readonly revision: number
  readonly edge: Edge
  /** The last checkpoint as a signed note, and its time. */
  readonly checkpoint: string | undefined
  readonly sealed: string | undefined
  /**
   * Place in the store up to which everything is sealed. Also undefined if the place was recorded by a version that seals only
   * conversations.
   */
  readonly after: StorePlace | undefined
  readonly rotations: readonly number[]
  /** Complete tiles that are not yet stored because a sealer stopped too early. */
  readonly unstored: readonly CompletedTile[]
}

/**
 * Loads the newest ledger of the store.
 *
 * @param heads receives the last sealed event of each stream; requires reading the whole log once
 */
export async function* loadLedger(store: EventStore, heads?: LastHeads): Fallible<LedgerError, Ledger> {
  const ledger = yield* findLedger(store, heads)
  return ledger ?? (yield ledgerNotFound(store.url))
}

/** Returns the origin and the number of the newest ledger without loading the ledger; undefined if the store has none. */
export async function* begunLast(
  store: EventStore,
): Fallible<LedgerError, Pick<Ledger, 'origin' | 'number'> | undefined> {
  const last = yield* lastOf(store, ledgerStream)
  if (!last) return undefined
  const { data, revision: number } = yield* dataOf(last, 'LedgerBegun')
  return { origin: data.origin, number }
}

/** Loads the newest ledger of the store like `loadLedger`, but returns undefined if the store has no ledger. */
export async function* findLedger(
  store: EventStore,
  heads?: LastHeads,
): Fallible<LedgerError, Ledger | undefined> {
  heads?.clear()
  const last = yield* lastOf(store, ledgerStream)
  if (!last) return undefined
  const { data, revision: number, time: begun } = yield* dataOf(last, 'LedgerBegun')
  const { origin, reason } = data
  const start = yield* edgeStored(store, number)
  const batches = yield* batchesFrom(store, number, start.size, heads)
  const newest = batches.at(-1)
  const entries = batches.flatMap(({ from, entries: each }) => each.slice(Math.max(0, start.size - from)))
  const { edge, completed } = grown(start, entries.map(leafHash))
  const rotations = newest?.rotations ?? []
  const first = { key: yield* unwrap(parseKey(data.key)), after: 0 }
  const keys = [first, ...(yield* keysAt(store, number, rotations))]
  if (!(yield* isAsSigned(edge, newest?.checkpoint)))
    return yield ledgerDamaged(origin, `its ${edge.size} entries do not match the last checkpoint`)
  return {
    number,
    origin,
    begun,
    reason,
    keys,
    revision: newest?.revision ?? -1,
    edge,
    checkpoint: newest?.checkpoint,
    sealed: newest?.time,
    after: newest?.turns ? newest.after : undefined,
    rotations,
    unstored: completed,
  }
}

async function* isAsSigned(edge: Edge, checkpoint: string | undefined): Fallible<LedgerError, boolean> {
  if (checkpoint === undefined) return edge.size === 0
  const { size, root } = (yield* unwrap(readCheckpoint(checkpoint))).checkpoint
  return size === edge.size && root.equals(edgeRoot(edge))
}

/** Returns the tree's edge after the last stored tile. */
async function* edgeStored(store: EventStore, number: number): Fallible<StoreError, Edge> {
  const last = yield* lastOf(store, tilesStream(number))
  return last ? edgeAfter(yield* completedTileOf(last)) : emptyEdge
}

/** Decodes an event of the tile stream. */
export async function* completedTileOf(event: RecordedEvent): Fallible<StoreError, CompletedTile> {
  const { data, revision } = yield* dataOf(event, 'TilesCompleted')
  return { index: revision, rows: data.rows.map((row) => hashesIn(Buffer.from(row, 'base64'))) }
}

const hashesIn = (bytes: Buffer): readonly Buffer[] =>
  Array.from({ length: Math.floor(bytes.length / hashBytes) }, (_, n) =>
    bytes.subarray(n * hashBytes, (n + 1) * hashBytes),
  )

/** Entries that were sealed together. */
export interface Batch {
  readonly revision: number
  readonly time: string
  readonly from: number
  readonly entries: readonly string[]
  readonly checkpoint: string
  readonly after?: string | undefined
  /** True if `after` also applies to the events recorded by turns. */
  readonly turns?: true | undefined
  readonly rotations: readonly number[]
}

export async function* batchIn(event: RecordedEvent): Fallible<StoreError, Batch> {
  const { data, revision, time } = yield* dataOf(event, 'HeadsSealed')
  return { ...data, revision, time }
}

/**
 * Returns the batches that contain the entries from `index` on, in order, and always the last batch. With `heads`, also reads all
 * earlier batches and adds their heads.
 */
async function* batchesFrom(
  store: EventStore,
  number: number,
  index: number,
  heads: LastHeads | undefined,
): Fallible<StoreError, readonly Batch[]> {
  const batches: Batch[] = []
  for await (const event of backwards(store, logStream(number))) {
    const batch = yield* batchIn(yield* unwrap(event))
    if ((batches[0]?.from ?? Infinity) > index) batches.unshift(batch)
    if (heads) takeOlder(heads, batch.entries)
    else if (batch.from <= index) break
  }
  return batches
}

/** Returns the keys announced at these revisions of the log. */
async function* keysAt(
  store: EventStore,
  number: number,
  rotations: readonly number[],
): Fallible<LedgerError, readonly ValidKey[]> {
  const keys: ValidKey[] = []
  for (const from of rotations) {
    const [event] = yield* unwrap(
      store.read({ stream: logStream(number), from, direction: 'forwards', limit: 1 }),
    )
    if (event) keys.push(...(yield* rotationIn(yield* batchIn(event))))
  }
  return keys
}

/** Returns the key that a batch announces, if any. A batch with a key has no other entries. */
export async function* rotationIn({
  entries,
  from,
  checkpoint,
}: Batch): Fallible<LedgerError, readonly ValidKey[]> {
  const entry = yield* unwrap(parseEntry(entries[0] ?? ''))
  if (entry.type !== 'key') return []
  return [{ key: yield* unwrap(parseKey(entry.key)), after: from + 1, rotation: { index: from, checkpoint } }]
}
