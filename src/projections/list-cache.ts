// A history that grows keeps its items, and its request the contents of its messages, as the same objects, which never change. So what
// was computed from each need not be computed again. Kept by the first of a list, as long as that is in use: looking up a thousand
// objects one by one takes longer than comparing them with a thousand others.

/** How many of the same objects two lists have in common at their beginning. */
export const sharedBeginning = (one: readonly object[], other: readonly object[]): number => {
  const most = Math.min(one.length, other.length)
  let length = 0
  while (length < most && one[length] === other[length]) length++
  return length
}

/** A cache for mapping lists: what a list has in common with the beginning of the last one with the same first object is not computed again. */
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
