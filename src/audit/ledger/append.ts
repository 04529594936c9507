import * as E from 'fp-ts/lib/Either.js'
import { unwrap, type Fallible } from '../../result/fallible.ts'
import type { Checkpoint as StorePlace } from '../../store/port.ts'
import type { LedgerError } from './errors.ts'
import { ledgerCodec, logStream, tilesStream } from './facts.ts'
import { leafHash } from './hashes.ts'
import type { Signer } from './keys.ts'
import type { Ledger } from './log.ts'
import { checkpointOf } from './sign.ts'
import { encodeFact, type FactWriter } from './stored-facts.ts'
import { type CompletedTile, grown } from './tiles.ts'

/** Event writer of a ledger, with its signing key. */
export interface LedgerWriter extends FactWriter {
  readonly signer: Signer
}

/**
 * Entries to append. With `to`, the entries announce a new key. Both keys sign their checkpoint, and only the new key signs later
 * checkpoints.
 */
export interface EntryBatch {
  readonly entries: readonly string[]
  readonly after: StorePlace | undefined
  readonly to?: Signer
}

/**
 * Appends entries with their checkpoint if the ledger is unchanged since it was loaded; otherwise fails with `Conflict`. Tiles are
 * stored afterwards. If they are missing, loading the ledger rebuilds them from the entries.
 */
export async function* appendEntries(
  writing: LedgerWriter,
  ledger: Ledger,
  { entries, after, to }: EntryBatch,
): Fallible<LedgerError, Ledger> {
  const { store, actor, signer } = writing
  const { edge, completed } = grown(ledger.edge, entries.map(leafHash))
  const checkpoint = yield* checkpointOf(ledger.origin, edge, to ? [signer, to] : [signer])
  const revision = ledger.revision + 1
  const rotations = to ? [...ledger.rotations, revision] : ledger.rotations
  const data = {
    from: ledger.edge.size,
    entries,
    checkpoint,
    rotations,
    ...(after !== undefined && { after }),
    turns: true as const,
  }
  const stream = logStream(ledger.number)
  const event = yield* unwrap(encodeFact(stream, { type: 'HeadsSealed', data }, actor))
  const { metadata } = yield* unwrap(ledgerCodec.decode(event, { stream, revision }))
  yield* unwrap(store.append({ stream, events: [event], expected: ledger.revision, repeat: 'none' }))
  const unstored = yield* storeTiles(writing, ledger, [...ledger.unstored, ...completed])
  return { ...ledger, edge, revision, rotations, checkpoint, after, sealed: metadata.time, unstored }
}

/** Maximum number of tiles in one append. */
const atOnce = 16

/**
 * Stores complete tiles, skipping those that another sealer has stored.
 *
 * @returns the tiles that are still unstored
 */
async function* storeTiles(
  { store, actor }: LedgerWriter,
  { number }: Ledger,
  tiles: readonly CompletedTile[],
): Fallible<LedgerError, readonly CompletedTile[]> {
  const stream = tilesStream(number)
  for (let next = 0; next < tiles.length; next += atOnce) {
    const events = []
    for (const { index, rows } of tiles.slice(next, next + atOnce)) {
      const data = { rows: rows.map((row) => Buffer.concat(row).toString('base64')) }
      events.push(yield* unwrap(encodeFact(stream, { type: 'TilesCompleted', data }, actor, index)))
    }
    const expected = (tiles[next]?.index ?? 0) - 1
    const written = await store.append({ stream, events, expected })()
    if (E.isLeft(written)) return written.left._tag === 'Conflict' ? [] : yield written.left
  }
  return []
}
