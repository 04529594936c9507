import { nodeHash } from './hashes.ts'

// The verification algorithms of RFC 9162, sections 2.1.3.2 and 2.1.4.2, step by step. They do not depend on how proofs are made.

/** Proof that a leaf is in a log. */
export interface InclusionProof {
  /** Leaf hash, as computed by `leafHash`. */
  readonly leaf: Uint8Array
  /** 0-based index of the leaf. */
  readonly index: number
  readonly size: number
  readonly root: Uint8Array
  /** Hashes of the proof, from the leaf upwards. */
  readonly proof: readonly Uint8Array[]
}

/** Size and root of a log, as stated by a checkpoint. */
export interface LogHead {
  readonly size: number
  readonly root: Uint8Array
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0
const isOdd = (number: number): boolean => number % 2 === 1
const half = (number: number): number => Math.floor(number / 2)

/** Reports whether the proof shows that the leaf is in the log with this root. Malformed input counts as an invalid proof. */
export const checkInclusion = ({ leaf, index, size, root, proof }: InclusionProof): boolean => {
  if (!(Number.isSafeInteger(index) && Number.isSafeInteger(size) && index >= 0 && index < size)) return false
  let [node, last, hash] = [index, size - 1, leaf]
  for (const beside of proof) {
    if (last === 0) return false
    if (isOdd(node) || node === last) {
      hash = nodeHash(beside, hash)
      for (; !isOdd(node) && node > 0; last = half(last)) node = half(node)
    } else hash = nodeHash(hash, beside)
    node = half(node)
    last = half(last)
  }
  return last === 0 && isSame(hash, root)
}

/** Reports whether the proof shows that the log `later` begins with the log `old`. */
export const checkConsistency = (old: LogHead, later: LogHead, proof: readonly Uint8Array[]): boolean => {
  if (!(Number.isSafeInteger(old.size) && Number.isSafeInteger(later.size))) return false
  if (old.size < 0 || old.size > later.size) return false
  if (old.size === 0) return proof.length === 0
  if (old.size === later.size) return proof.length === 0 && isSame(old.root, later.root)
  const isWhole = Number.isInteger(Math.log2(old.size))
  const [first, ...rest] = isWhole ? [old.root, ...proof] : proof
  if (!first || proof.length === 0) return false
  let [node, last] = [old.size - 1, later.size - 1]
  for (; isOdd(node); last = half(last)) node = half(node)
  let [before, after] = [first, first]
  for (const beside of rest) {
    if (last === 0) return false
    if (isOdd(node) || node === last) {
      before = nodeHash(beside, before)
      after = nodeHash(beside, after)
      for (; !isOdd(node) && node > 0; last = half(last)) node = half(node)
    } else after = nodeHash(after, beside)
    node = half(node)
    last = half(last)
  }
  return last === 0 && isSame(before, old.root) && isSame(after, later.root)
}
