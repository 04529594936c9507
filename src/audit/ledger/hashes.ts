import { hash } from 'node:crypto'

// Hashes of a Merkle log (RFC 6962, section 2.1). Leaves and inner nodes are hashed with different prefix bytes, so that neither can
// pass for the other.

export const hashBytes = 32
const leafPrefix = Buffer.from([0])
const nodePrefix = Buffer.from([1])

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer')

/** Root of a tree without leaves. */
export const emptyRoot: Buffer = sha256(Buffer.alloc(0))

/**
 * Returns the hash of a leaf.
 *
 * @param entry the bytes of the entry; a string is hashed as UTF-8
 */
export const leafHash = (entry: Uint8Array | string): Buffer =>
  sha256(Buffer.concat([leafPrefix, typeof entry === 'string' ? Buffer.from(entry) : entry]))

export const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer =>
  sha256(Buffer.concat([nodePrefix, left, right]))

/** Returns the root hash over a row of nodes. All nodes have the same height, except that the last one may be lower. */
export const rootOver = (nodes: readonly Buffer[]): Buffer => {
  let row = nodes
  while (row.length > 1) row = parentRow(row)
  return row[0] ?? emptyRoot
}

/** Returns the next higher row of a tree. A node without a partner is carried up unchanged. */
export const parentRow = (row: readonly Buffer[]): Buffer[] => {
  const above: Buffer[] = []
  for (let at = 0; at < row.length; at += 2) {
    const [left, right] = [row[at] as Buffer, row[at + 1]]
    above.push(right ? nodeHash(left, right) : left)
  }
  return above
}
