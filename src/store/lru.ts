/** Remembers the values that were used last, each under a name. To get a value is to use it. */
export interface LruCache<T> {
  readonly get: (name: string) => T | undefined
  readonly set: (name: string, value: T) => void
  readonly forget: (name: string) => void
}

/** @param most of so many names; the one whose last use is longest ago goes first */
export const remembered = <T>(most: number): LruCache<T> => {
  /** By their last use: a map keeps the order in which its names came. */
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
