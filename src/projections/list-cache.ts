// A history that goes on keeps its items, and its request the contents of its messages, as the same objects, and none of these ever
// changes. So what was computed of each of them need not be computed again. By the first of a list, as long as anybody has that: to look
// up a thousand objects one by one takes longer than to compare them with a thousand others.

/** How many elements two lists begin with that are the same objects. */
export const sharedBeginning = (one: readonly object[], other: readonly object[]): number => {
  const most = Math.min(one.length, other.length)
  let length = 0
  while (length < most && one[length] === other[length]) length++
  return length
}

/** A cache of lists that were mapped: what a list shares at its beginning with the last one that began alike is not computed again. */
export const listCache = <K extends object, V>(): ((
  keys: readonly K[],
  compute: (key: K, index: number) => V,
) => readonly V[]) => {
  const known = new WeakMap<K, { readonly keys: readonly K[]; readonly values: readonly V[] }>()
  return (keys, compute) => {
    const [first] = keys
    if (!first) return []
    const before = known.get(first)
    const length = before ? sharedBeginning(before.keys, keys) : 0
    const values = before?.values.slice(0, length) ?? []
    for (let index = length; index < keys.length; index++) values.push(compute(keys[index] as K, index))
    known.set(first, { keys, values })
    return values
  }
}
