import { nodeHash } from './hashes.ts'

// Proofs of RFC 6962, sections 2.1.1 and 2.1.2: which hashes they consist of, and how they are made of the complete subtrees that tiles hold.

/** Leaves from `from` to `to`, half-open: a subtree of the log. */
export interface Leaves {
  readonly from: number
  readonly to: number
}

/** A complete subtree: `2 ** level` leaves starting at `index * 2 ** level`. */
export interface Subtree {
  readonly level: number
  readonly index: number
}

/** Returns the hash of a complete subtree. */
export type HashOf = (subtree: Subtree) => Buffer

/** Returns the largest power of two less than `count`, which is 2 or more. */
const split = (count: number): number => 2 ** Math.floor(Math.log2(count - 1))

/**
 * Returns the subtrees that prove that leaf `index` is in the log of that size, from the leaf upwards.
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
 * Returns the subtrees that prove that the log of size `old` is the beginning of the log of size `size`. Empty if one of the logs is
 * empty or they are the same.
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
  // A verifier knows the old root, and so needs this one only if it is not the whole old log.
  if (from > 0) beside.push({ from, to })
  return beside.toReversed()
}

/** Splits a subtree into complete subtrees, from the left. */
export const subtreesOf = ({ from, to }: Leaves): readonly Subtree[] => {
  const subtrees: Subtree[] = []
  for (let at = from; at < to;) {
    const level = Math.floor(Math.log2(to - at))
    subtrees.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return subtrees
}

/** Returns the root over these leaves. */
export const rootOfLeaves = (leaves: Leaves, hashOf: HashOf): Buffer =>
  subtreesOf(leaves)
    .map(hashOf)
    .reduceRight((right, left) => nodeHash(left, right))

/** Returns the inclusion proof of leaf `index` in a log of that size, to be checked by `checkInclusion`. */
export const inclusionProof = (size: number, index: number, hashOf: HashOf): readonly Buffer[] =>
  inclusionLeaves(size, index).map((leaves) => rootOfLeaves(leaves, hashOf))

/** Returns the consistency proof between the logs of two sizes, to be checked by `checkConsistency`. */
export const consistencyProof = (size: number, old: number, hashOf: HashOf): readonly Buffer[] =>
  consistencyLeaves(size, old).map((leaves) => rootOfLeaves(leaves, hashOf))
