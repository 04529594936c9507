import { createHash, type Hash } from 'node:crypto'
import { beginnings } from '../../projections/memo.ts'

/** A text that contains a list: the text before it, its items, and the text after it. */
export interface ListText {
  readonly before: string
  /** The items: always the same objects for the same items. */
  readonly items: readonly object[]
  readonly textAt: (index: number) => string
  readonly after: string
  /** Number of items that the next list will probably begin with. */
  readonly stable: number
}

/** Hash of the text before a list and of the list's first `length` items. */
interface Hashed {
  readonly before: string
  readonly length: number
  readonly hash: Hash
}
const hashes = beginnings<object, Hashed>()

/** Returns the SHA-256 (hex). Continues from the previous hash of the list's beginning as long as it is unchanged. */
export const listDigest = ({ before, items, textAt, after, stable }: ListText): string => {
  const begun = hashes.of(items)
  const isSame = begun?.made.before === before && begun.shared >= begun.made.length
  let { length, hash } = isSame ? begun.made : { length: 0, hash: createHash('sha256').update(before) }
  const textFrom = (from: number, to: number): string => {
    const texts = items.slice(from, to).map((_, index) => textAt(from + index))
    return `${from > 0 && from < to ? ',' : ''}${texts.join()}`
  }
  if (length < stable) {
    hash = hash.copy().update(textFrom(length, stable))
    length = stable
    hashes.keep(items, { before, length, hash })
  }
  return hash
    .copy()
    .update(`${textFrom(length, items.length)}${after}`)
    .digest('hex')
}
