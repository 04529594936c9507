import { hash } from 'node:crypto'

// Keys of the events of a stream, one for each revision, in a tree: the key of a node yields those of its two children (Goldreich,
// Goldwasser and Micali, 1986). The key of one revision is destroyed by keeping, in place of the nodes above it, the nodes beside them.

/** Number of levels below the root: revisions are below 2^32. */
const levels = 32
const keyBytes = 32

/** Key of a node. The node covers the revisions whose first `level` bits, of 32, are the number `index`. */
export interface TreeKey {
  readonly level: number
  readonly index: number
  readonly key: Uint8Array
}

const firstOf = ({ level, index }: TreeKey): number => index * 2 ** (levels - level)
const lastOf = (node: TreeKey): number => firstOf(node) + 2 ** (levels - node.level) - 1

const input = Buffer.alloc(keyBytes + 1)
const childKey = (key: Uint8Array, bit: number): Uint8Array => {
  input.set(key)
  input[keyBytes] = bit
  return hash('sha256', input, 'buffer')
}
const childOf = ({ level, index, key }: TreeKey, bit: number): TreeKey => ({
  level: level + 1,
  index: index * 2 + bit,
  key: childKey(key, bit),
})

/** Returns nodes from which every key follows that follows from the given ones, except those of a range of revisions. */
export const withoutKeys = (nodes: readonly TreeKey[], first: number, last: number): readonly TreeKey[] =>
  nodes.flatMap((node) => {
    const from = firstOf(node)
    const to = lastOf(node)
    if (to < first || from > last) return [node]
    if (first <= from && to <= last) return []
    return withoutKeys([childOf(node, 0), childOf(node, 1)], first, last)
  })

/** Returns the nodes, with those of a new tree where keys were destroyed: for the revisions from `first` on. */
export const withNewKeys = (
  nodes: readonly TreeKey[],
  first: number,
  root: Uint8Array,
): readonly TreeKey[] => {
  let added: readonly TreeKey[] = withoutKeys([{ level: 0, index: 0, key: root }], 0, first - 1)
  for (const node of nodes) added = withoutKeys(added, firstOf(node), lastOf(node))
  return [...nodes, ...added].toSorted((one, other) => firstOf(one) - firstOf(other))
}

/**
 * Returns a function that computes the key of a revision; undefined if it was destroyed.
 *
 * @param nodes ascending
 */
export const keyReader = (nodes: readonly TreeKey[]): ((revision: number) => Uint8Array | undefined) => {
  /** Keys on the way to the latest revision, by level, from the level of its node. */
  const path: Uint8Array[] = []
  let node: TreeKey | undefined
  let latest = 0
  return (revision) => {
    let level = Math.clz32(revision ^ latest)
    if (!node || revision < firstOf(node) || revision > lastOf(node)) {
      node = nodeOf(nodes, revision)
      if (!node) return undefined
      path[node.level] = node.key
      level = node.level
    }
    // Neighbors share most of the way.
    for (; level < levels; level++)
      path[level + 1] = childKey(path[level] as Uint8Array, (revision >>> (levels - level - 1)) & 1)
    latest = revision
    return path[levels]
  }
}

/** Returns the node, of ascending ones, that covers a revision; undefined if its key was destroyed. */
export const nodeOf = (nodes: readonly TreeKey[], revision: number): TreeKey | undefined => {
  let low = 0
  let high = nodes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (lastOf(nodes[middle] as TreeKey) < revision) low = middle + 1
    else high = middle
  }
  const found = nodes[low]
  return found && firstOf(found) <= revision ? found : undefined
}
