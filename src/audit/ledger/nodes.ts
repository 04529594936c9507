import { unwrap, type Fallible } from '../../result/fallible.ts'
import { createLruCache } from '../../store/lru.ts'
import type { EventStore } from '../../store/port.ts'
import { type LedgerError, ledgerDamaged } from './errors.ts'
import { tilesStream } from './facts.ts'
import { completedTileOf, type Ledger } from './log.ts'
import {
  consistencyProof,
  consistencyLeaves,
  type HashOf,
  inclusionLeaves,
  inclusionProof,
  type Leaves,
  rootOfLeaves,
  subtreesOf,
} from './proofs.ts'
import { lastTileOf, hashFrom, openTile, rowsOf, tileOf, type TilePlace, type TileRows } from './tiles.ts'

/** Hashes and proofs of a ledger, computed from its tiles. */
export interface Nodes {
  readonly inclusion: (
    ledger: Ledger,
    size: number,
    index: number,
  ) => Fallible<LedgerError, readonly Buffer[]>
  readonly consistency: (
    ledger: Ledger,
    size: number,
    old: number,
  ) => Fallible<LedgerError, readonly Buffer[]>
  /**
   * Returns the root of the ledger when it had `size` entries.
   *
   * @param size 1 or more
   */
  readonly rootAt: (ledger: Ledger, size: number) => Fallible<LedgerError, Buffer>
}

/** Maximum number of tiles in memory: 16 KB each, including the hashes computed from them. */
const most = 256

export const nodesOf = (store: EventStore): Nodes => {
  const known = createLruCache<TileRows>(most)
  const nameOf = ({ number }: Ledger, { level, index }: TilePlace): string => `${number}/${level}/${index}`

  async function* tileRows(ledger: Ledger, tile: TilePlace): Fallible<LedgerError, TileRows> {
    const { edge, unstored, number, origin } = ledger
    // The open tile of a level is still growing, so its hashes come from the ledger's edge.
    if (tile.index === openTile(edge.size, tile.level)) return rowsOf(edge.rows[tile.level] ?? [])
    const name = nameOf(ledger, tile)
    const before = known.get(name)
    if (before) return before
    const from = lastTileOf(tile)
    const here = unstored.find(({ index }) => index === from)
    const [event] = here
      ? []
      : yield* unwrap(store.read({ stream: tilesStream(number), from, direction: 'forwards', limit: 1 }))
    const completed = here ?? (event && (yield* completedTileOf(event)))
    const row = completed?.rows[tile.level]
    if (!row) return yield ledgerDamaged(origin, `tile ${tile.index} of level ${tile.level} is missing`)
    const rows = rowsOf(row)
    known.set(name, rows)
    return rows
  }

  /** Loads the tiles that are needed to compute the hashes over these ranges of leaves. */
  async function* loaded(ledger: Ledger, leaves: readonly Leaves[]): Fallible<LedgerError, HashOf> {
    const rows = new Map<string, TileRows>()
    for (const tile of leaves.flatMap(subtreesOf).map(tileOf)) {
      const name = nameOf(ledger, tile)
      if (!rows.has(name)) rows.set(name, yield* tileRows(ledger, tile))
    }
    return hashFrom((tile) => rows.get(nameOf(ledger, tile)))
  }

  async function* rootAt(ledger: Ledger, size: number): Fallible<LedgerError, Buffer> {
    const leaves = { from: 0, to: size }
    return rootOfLeaves(leaves, yield* loaded(ledger, [leaves]))
  }

  async function* inclusion(ledger: Ledger, size: number, index: number): Proof {
    return inclusionProof(size, index, yield* loaded(ledger, inclusionLeaves(size, index)))
  }
  async function* consistency(ledger: Ledger, size: number, old: number): Proof {
    return consistencyProof(size, old, yield* loaded(ledger, consistencyLeaves(size, old)))
  }

  return { inclusion, consistency, rootAt }
}

type Proof = Fallible<LedgerError, readonly Buffer[]>
