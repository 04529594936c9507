// The caches of pure functions: what `src` remembers by object is remembered here. Blocks, items, receipts and the contents of messages
// never change, and a history that grows keeps the ones it has, so what was computed from one need not be computed again.
//
// The functions stay pure. A cache answers only for the very object that it was asked about before, so it gives what would be computed:
// only time tells the difference. Of each object it keeps what was computed last, as long as the object is in use (a WeakMap), so memory
// is bounded by what the program itself holds.

/**
 * `compute`, remembered by object.
 *
 * Keeps one value for each object: the one of the variant that was last asked for.
 *
 * @param compute a pure function of an object that never changes, and of a text that says which variant is asked for
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

/** What was made of a list with the same first object. */
export interface PrefixMatch<T> {
  readonly made: T
  /** How many of the same objects the list that it was made of begins with. */
  readonly shared: number
}

/** What was made of the beginnings of lists, to be continued when they have grown at their end. */
export interface Beginnings<K extends object, T> {
  readonly of: (list: readonly K[]) => PrefixMatch<T> | undefined
  readonly keep: (list: readonly K[], made: T) => void
}

/**
 * Keeps what was last made of a list by the list's first object: looking up a thousand objects one by one takes longer than comparing
 * them with a thousand others. Whether it can be continued, the caller tells from how much is shared.
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
 * Maps lists: a value is not computed again for an object that is in the same place as in the list before with the same first object,
 * and, of the same variant, with the same objects before it. So `compute` may look at what comes before, and at nothing after.
 */
export const mapped = <K extends object, V>(): ((
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
