import { createHash, type Hash } from 'node:crypto'
import { sharedBeginning } from '../projections/list-cache.ts'

/** A text with a list in it: what comes before the list, its items, and what comes after it. */
export interface ListText {
  readonly before: string
  /** The same objects for the same items, each time. */
  readonly items: readonly object[]
  readonly textAt: (index: number) => string
  readonly after: string
  /** What a list that continues this one begins with too. */
  readonly key: object | undefined
  /** How many items the next list will probably begin with. */
  readonly stable: number
}

/** A hash of the first items of a list. */
interface Beginning {
  readonly before: string
  readonly items: readonly object[]
  readonly hash: Hash
}
const beginnings = new WeakMap<object, Beginning>()

/** SHA-256 (hex). Continues from what was hashed of the list's beginning before, as long as that is the same. */
export const listDigest = ({ before, items, textAt, after, key, stable }: ListText): string => {
  const known = key && beginnings.get(key)
  const isSame = known?.before === before && sharedBeginning(known.items, items) === known.items.length
  let { items: hashed, hash } = isSame
    ? known
    : { items: [] as readonly object[], hash: createHash('sha256').update(before) }
  const textFrom = (from: number, to: number): string => {
    const texts = items.slice(from, to).map((_, index) => textAt(from + index))
    return `${from > 0 && from < to ? ',' : ''}${texts.join()}`
  }
  if (key && hashed.length < stable) {
    hash = hash.copy().update(textFrom(hashed.length, stable))
    hashed = items.slice(0, stable)
    beginnings.set(key, { before, items: hashed, hash })
  }
  return hash
    .copy()
    .update(`${textFrom(hashed.length, items.length)}${after}`)
    .digest('hex')
}
