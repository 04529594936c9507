import { parentRow, rootOver } from './hashes.ts'
import type { HashOf, Subtree } from './proofs.ts'

// Tiles as in C2SP tlog-tiles: tile N of level L holds the hashes of the subtrees 256 N to 256 N + 255, each of 256 ** L leaves.

/** Number of tree levels in a tile. */
const height = 8
/** Number of hashes in a complete tile. */
export const tileWidth = 2 ** height

export interface TilePlace {
  readonly level: number
  readonly index: number
}

/** A completed tile of level 0, with the tiles above it as they were at that time. */
export interface CompletedTile {
  /** Index of the completed level-0 tile. */
  readonly index: number
  /**
   * Hashes of the right-most tile at each level, from level 0. Level 0 has `tileWidth` hashes; each higher level has at most
   * `tileWidth`.
   */
  readonly rows: readonly (readonly Buffer[])[]
}

/** Returns the tile from which a subtree's hash is computed. */
export const tileOf = ({ level, index }: Subtree): TilePlace => ({
  level: Math.floor(level / height),
  index: Math.floor((index * 2 ** (level % height)) / tileWidth),
})

/** Returns the index of the incomplete tile at a level, to which the next hash is added. */
export const openTile = (size: number, level: number): number => Math.floor(size / tileWidth ** (level + 1))

/** Returns the index of the level-0 tile that completed this tile. */
export const lastTileOf = ({ level, index }: TilePlace): number => tileWidth ** level * (index + 1) - 1

/** Hashes of a tile, followed by the hashes of the complete subtrees above them, ordered by height. */
export type TileRows = readonly (readonly Buffer[])[]

export const rowsOf = (hashes: readonly Buffer[]): TileRows => {
  const rows = [hashes]
  for (let row = hashes; row.length > 1;) {
    // The hash of an incomplete subtree is not final.
    row = parentRow(row.slice(0, row.length - (row.length % 2)))
    rows.push(row)
  }
  return rows
}

/** Returns a function that computes subtree hashes from loaded tiles. The tile named by `tileOf` must be loaded. */
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

/** The right edge of a log's tiles: the part that is needed to append to the log. */
export interface Edge {
  readonly size: number
  /** Hashes in the incomplete tile of each level: fewer than `tileWidth` per level. */
  readonly rows: readonly (readonly Buffer[])[]
}

export const emptyEdge: Edge = { size: 0, rows: [] }

/** Adds leaves to the tree. Returns the new edge and the tiles that the leaves complete. */
export const grown = (
  edge: Edge,
  leaves: readonly Buffer[],
): { readonly edge: Edge; readonly completed: readonly CompletedTile[] } => {
  const rows = edge.rows.map((row) => [...row])
  const completed: CompletedTile[] = []
  for (const [n, leaf] of leaves.entries()) {
    const lowest = (rows[0] ??= [])
    lowest.push(leaf)
    if (lowest.length < tileWidth) continue
    completed.push({ index: openTile(edge.size + n, 0), rows: raised(rows) })
  }
  return { edge: { size: edge.size + leaves.length, rows }, completed }
}

/**
 * Moves the hashes of complete rows to the level above.
 *
 * @returns the rows as they were before the complete rows were emptied
 */
const raised = (rows: Buffer[][]): readonly (readonly Buffer[])[] => {
  for (let level = 0; rows[level]?.length === tileWidth; level++) {
    const row = rows[level] as Buffer[]
    const above = (rows[level + 1] ??= [])
    above.push(rootOver(row))
    if (above.length < tileWidth) {
      const before = rows.map((each) => [...each])
      for (let done = 0; done <= level; done++) rows[done] = []
      return before
    }
  }
  return rows
}

/** Returns the edge right after the completion of a level-0 tile. */
export const edgeAfter = ({ index, rows }: CompletedTile): Edge => ({
  size: (index + 1) * tileWidth,
  rows: rows.map((row) => (row.length === tileWidth ? [] : row)),
})

/** Returns the root hash of the log. */
export const edgeRoot = ({ rows }: Edge): Buffer => {
  let lower: readonly Buffer[] = []
  for (const row of rows) {
    const all = [...row, ...lower]
    lower = all.length > 0 ? [rootOver(all)] : []
  }
  return rootOver(lower)
}
