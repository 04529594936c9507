import { paired, rootOver } from './hashes.ts'
import type { HashOf, Subtree } from './proofs.ts'

// Tiles as in C2SP tlog-tiles: at level L, tile N holds the hashes of the subtrees of 256 ** L leaves from the (256 N)-th on.

/** Levels of the tree in a tile. */
const height = 8
/** Hashes in a complete tile. */
export const tileWidth = 2 ** height

export interface TilePlace {
  readonly level: number
  readonly index: number
}

/** A complete tile. */
export interface Tile extends TilePlace {
  /** `tileWidth` of them. */
  readonly hashes: readonly Buffer[]
}

/** The tile that a subtree's hash is computed from. */
export const tileOf = ({ level, index }: Subtree): TilePlace => ({
  level: Math.floor(level / height),
  index: Math.floor((index * 2 ** (level % height)) / tileWidth),
})

/** How many hashes the tiles of a level have, all together. */
export const hashesAt = (size: number, level: number): number => Math.floor(size / tileWidth ** level)

/** The hashes in a tile and of the complete subtrees over them, by height. */
export type TileRows = readonly (readonly Buffer[])[]

export const rowsOf = (hashes: readonly Buffer[]): TileRows => {
  const rows = [hashes]
  for (let row = hashes; row.length > 1;) {
    // What is incomplete has no hash yet that stays.
    row = paired(row.slice(0, row.length - (row.length % 2)))
    rows.push(row)
  }
  return rows
}

/** Answers from tiles that were loaded before: those that `tileOf` names. */
export const hashFrom =
  (rowsAt: (tile: TilePlace) => TileRows | undefined): HashOf =>
  (subtree) => {
    const tile = tileOf(subtree)
    const inTile = subtree.level % height
    const hash = rowsAt(tile)?.[inTile]?.[subtree.index - (tile.index * tileWidth) / 2 ** inTile]
    if (!hash)
      throw new Error(`no hash of subtree ${subtree.index} at level ${subtree.level}: load its tile first`)
    return hash
  }

/** A log as whoever adds to it needs it: the right edge of its tiles. */
export interface Edge {
  readonly size: number
  /** By level, the hashes that fill no tile yet: fewer than `tileWidth` each. */
  readonly rows: readonly (readonly Buffer[])[]
}

export const emptyEdge: Edge = { size: 0, rows: [] }

/** Adds leaves, and returns the tiles that they complete, each after those it is made of. */
export const grown = (
  edge: Edge,
  leaves: readonly Buffer[],
): { readonly edge: Edge; readonly tiles: readonly Tile[] } => {
  const rows = edge.rows.map((row) => [...row])
  const tiles: Tile[] = []
  for (const [n, leaf] of leaves.entries()) {
    const size = edge.size + n + 1
    for (let [level, hash] = [0, leaf as Buffer | undefined]; hash; level++) {
      const row = (rows[level] ??= [])
      row.push(hash)
      hash = undefined
      if (row.length < tileWidth) break
      tiles.push({ level, index: hashesAt(size, level + 1) - 1, hashes: row })
      hash = rootOver(row)
      rows[level] = []
    }
  }
  return { edge: { size: edge.size + leaves.length, rows }, tiles }
}

/** The root of the log. */
export const edgeRoot = ({ rows }: Edge): Buffer => {
  let lower: readonly Buffer[] = []
  for (const row of rows) {
    const all = [...row, ...lower]
    lower = all.length > 0 ? [rootOver(all)] : []
  }
  return rootOver(lower)
}
