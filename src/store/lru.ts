/** Cache of the most recently used values, by name. Reading a value counts as a use. */
export interface LruCache<T> {
  readonly get: (name: string) => T | undefined
  readonly set: (name: string, value: T) => void
  readonly forget: (name: string) => void
}

/**
 * Creates a cache.
 *
 * @param most maximum number of names. Beyond it, the least recently used tenth is dropped at once, because finding the oldest name of a
 * map gets slower with each name that was dropped before it.
 */
export const createLruCache = <T>(most: number): LruCache<T> => {
  /** Values in order of their last use, because a map keeps insertion order. */
  const values = new Map<string, T>()
  let newest: string | undefined

  const use = (name: string, value: T): void => {
    if (name !== newest) values.delete(name)
    values.set(name, value)
    newest = name
  }

  return {
    get: (name) => {
      const value = values.get(name)
      if (value !== undefined) use(name, value)
      return value
    },
    set: (name, value) => {
      use(name, value)
      if (values.size <= most) return
      for (const oldest of values.keys()) {
        if (values.size <= Math.ceil(most * 0.9)) return
        values.delete(oldest)
      }
    },
    forget: (name) => {
      values.delete(name)
    },
  }
}
