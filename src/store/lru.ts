/** Remembers a bounded number of things by conversation, those that came last. */
export interface Remembered<T> {
  readonly get: (conversation: string) => T | undefined
  readonly set: (conversation: string, value: T) => void
  readonly forget: (conversation: string) => void
}

export const remembered = <T>(most: number): Remembered<T> => {
  const values = new Map<string, T>()
  return {
    get: (conversation) => values.get(conversation),
    set: (conversation, value) => {
      values.set(conversation, value)
      const oldest = values.size > most ? values.keys().next() : undefined
      if (oldest?.done === false) values.delete(oldest.value)
    },
    forget: (conversation) => {
      values.delete(conversation)
    },
  }
}
