import { createHash, type Hash } from 'node:crypto'
import { beginnings } from '../../projections/memo.ts'

/** Text with a list inside: the text before the list, the items, and the text after the list. */
export interface ListText {
  readonly before: string
  /** Items of the list. An unchanged item must always be the same object. */
  readonly items: readonly object[]
  readonly textAt: (index: number) => string
  readonly after: string
  /** Number of leading items that the next list will probably begin with. */
  readonly stable: number
}

/** Hash of the text before a list and of the list's first `length` items. */
interface Hashed {
  readonly before: string
  readonly length: number
  readonly hash: Hash
}
const hashes = beginnings<object, Hashed>()

/**
 * Returns the SHA-256 (hex) of the text. Hashing continues from the hash of the previous list as long as the beginning is unchanged.
 */
export const listDigest = ({ before, items, textAt, after, stable }: ListText): string => {
  const begun = hashes.of(items)
  const isSame = begun?.made.before === before && begun.shared >= begun.made.length
  let { length, hash } = isSame ? begun.made : { length: 0, hash: createHash('sha256').update(before) }
  // Hashed item by item, because all texts together are as long as the history.
  const extend = (to: number): Hash => {
    const longer = hash.copy()
    for (; length < to; length++) longer.update(`${length > 0 ? ',' : ''}${textAt(length)}`)
    return longer
  }
  if (length < stable) {
    hash = extend(stable)
    hashes.keep(items, { before, length, hash })
  }
  return extend(items.length).update(after).digest('hex')
}
