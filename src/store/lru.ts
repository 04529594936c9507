/** Cache of the most recently used values, by name. Reading a value counts as a use. */
export interface LruCache<T> {
  readonly get: (name: string) => T | undefined
  readonly set: (name: string, value: T) => void
  readonly forget: (name: string) => void
}

/**
 * Creates a cache.
 *
 * @param most maximum number of names; the least recently used name is dropped first
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
      const oldest = values.size > most ? values.keys().next() : undefined
      if (oldest?.done === false) values.delete(oldest.value)
    },
    forget: (name) => {
      values.delete(name)
    },
  }
}
