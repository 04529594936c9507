// The caches of pure functions: everything that `src` caches by object is cached here. Blocks, items, receipts and the contents of
// messages never change, and a growing history keeps the same objects, so a value computed from an object need not be computed again.
//
// The functions stay pure. A cache returns a value only for the very object from which the value was computed, so callers see a
// difference in time only. For each object, it keeps only the last value, and only while the object is in use (a WeakMap), so its
// memory is bounded by the memory that the program itself uses.

/**
 * Memoizes a function by object, keeping one value for each object: the value for the variant requested last.
 *
 * @param compute a pure function of an object that never changes, and of a text that names the requested variant
 */
export const memo = <K extends object, V>(
  compute: (object: K, variant: string) => V,
): ((object: K, variant?: string) => V) => {
  const known = new WeakMap<K, { readonly variant: string; readonly value: V }>()
  return (object, variant = '') => {
    const before = known.get(object)
    if (before?.variant === variant) return before.value
    const value = compute(object, variant)
    known.set(object, { variant, value })
    return value
  }
}

/** A cached result for an earlier list that begins with the same object. */
export interface PrefixMatch<T> {
  readonly made: T
  /** Number of objects at the start that both lists have in common. */
  readonly shared: number
}

/** A cache of results computed from lists. If a list has grown at its end, its cached result can be continued. */
export interface Beginnings<K extends object, T> {
  readonly of: (list: readonly K[]) => PrefixMatch<T> | undefined
  readonly keep: (list: readonly K[], made: T) => void
}

/**
 * Creates a cache that stores results by the first object of their list and keeps only the last result for each first object. To find
 * the shared objects, it compares two lists object by object, which is faster than looking up every object. The caller decides from the
 * number of shared objects whether to continue the cached result.
 */
export const beginnings = <K extends object, T>(): Beginnings<K, T> => {
  const known = new WeakMap<K, { readonly list: readonly K[]; readonly made: T }>()
  return {
    of: (list) => {
      const before = list[0] && known.get(list[0])
      return before && { made: before.made, shared: sharedBeginning(before.list, list) }
    },
    keep: (list, made) => {
      if (list[0]) known.set(list[0], { list, made })
    },
  }
}

const sharedBeginning = (one: readonly object[], other: readonly object[]): number => {
  if (one === other) return one.length
  const most = Math.min(one.length, other.length)
  let length = 0
  while (length < most && one[length] === other[length]) length++
  return length
}

/**
 * Returns a function that maps a list. It reuses the values of the previous list with the same first object and variant, as far as both
 * lists begin with the same objects. Therefore `compute` may depend on earlier objects of the list, but not on later ones.
 */
export const createListMap = <K extends object, V>(): ((
  list: readonly K[],
  compute: (object: K, index: number) => V,
  variant?: string,
) => readonly V[]) => {
  const known = beginnings<K, { readonly variant: string; readonly values: readonly V[] }>()
  return (list, compute, variant = '') => {
    const before = known.of(list)
    const values = before?.made.variant === variant ? before.made.values.slice(0, before.shared) : []
    for (let index = values.length; index < list.length; index++)
      values.push(compute(list[index] as K, index))
    known.keep(list, { variant, values })
    return values
  }
}
