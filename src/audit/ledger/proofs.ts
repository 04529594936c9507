import { nodeHash } from './hashes.ts'

// Proofs of RFC 6962, sections 2.1.1 and 2.1.2: their hashes, and how these are computed from the complete subtrees in tiles.

/** A range of leaves that form a subtree of the log: from `from` to `to`, half-open. */
export interface Leaves {
  readonly from: number
  readonly to: number
}

/** A complete subtree: `2 ** level` leaves starting at `index * 2 ** level`. */
export interface Subtree {
  readonly level: number
  readonly index: number
}

/** Function that returns the hash of a complete subtree. */
export type HashOf = (subtree: Subtree) => Buffer

/** Returns the largest power of two less than `count`. `count` must be 2 or more. */
const split = (count: number): number => 2 ** Math.floor(Math.log2(count - 1))

/**
 * Returns the subtrees whose hashes form the inclusion proof of leaf `index` in a log of `size` leaves, from the leaf upwards.
 *
 * @param index from 0, below `size`
 */
export const inclusionLeaves = (size: number, index: number): readonly Leaves[] => {
  const beside: Leaves[] = []
  for (let [from, to] = [0, size]; to - from > 1;) {
    const middle = from + split(to - from)
    if (index < middle) {
      beside.push({ from: middle, to })
      to = middle
    } else {
      beside.push({ from, to: middle })
      from = middle
    }
  }
  return beside.toReversed()
}

/**
 * Returns the subtrees whose hashes prove that the log of `old` leaves is the beginning of the log of `size` leaves. Empty if `old` is
 * 0 or equals `size`.
 *
 * @param old from 0 to `size`
 */
export const consistencyLeaves = (size: number, old: number): readonly Leaves[] => {
  if (old === 0 || old === size) return []
  const beside: Leaves[] = []
  let [from, to] = [0, size]
  while (to !== old) {
    const middle = from + split(to - from)
    if (old <= middle) {
      beside.push({ from: middle, to })
      to = middle
    } else {
      beside.push({ from, to: middle })
      from = middle
    }
  }
  // The verifier knows the old root, so it needs this hash only if the subtree is not the whole old log.
  if (from > 0) beside.push({ from, to })
  return beside.toReversed()
}

/** Splits a range of leaves into complete subtrees, from left to right. */
export const subtreesOf = ({ from, to }: Leaves): readonly Subtree[] => {
  const subtrees: Subtree[] = []
  for (let at = from; at < to;) {
    const level = Math.floor(Math.log2(to - at))
    subtrees.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return subtrees
}

/** Returns the root hash over these leaves. */
export const rootOfLeaves = (leaves: Leaves, hashOf: HashOf): Buffer =>
  subtreesOf(leaves)
    .map(hashOf)
    .reduceRight((right, left) => nodeHash(left, right))

/** Returns the inclusion proof of leaf `index` in a log of `size` leaves, for `checkInclusion`. */
export const inclusionProof = (size: number, index: number, hashOf: HashOf): readonly Buffer[] =>
  inclusionLeaves(size, index).map((leaves) => rootOfLeaves(leaves, hashOf))

/** Returns the consistency proof between logs of `old` and `size` leaves, for `checkConsistency`. */
export const consistencyProof = (size: number, old: number, hashOf: HashOf): readonly Buffer[] =>
  consistencyLeaves(size, old).map((leaves) => rootOfLeaves(leaves, hashOf))
