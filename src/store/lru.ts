/** Remembers the last few values that were set, each under a name. */
export interface Remembered<T> {
  readonly get: (name: string) => T | undefined
  readonly set: (name: string, value: T) => void
  readonly forget: (name: string) => void
}

export const remembered = <T>(most: number): Remembered<T> => {
  const values = new Map<string, T>()
  return {
    get: (name) => values.get(name),
    set: (name, value) => {
      values.set(name, value)
      const oldest = values.size > most ? values.keys().next() : undefined
      if (oldest?.done === false) values.delete(oldest.value)
    },
    forget: (name) => {
      values.delete(name)
    },
  }
}
