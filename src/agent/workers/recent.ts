/** Values by conversation: of all `kept` conversations, and of the most recently set others. */
export interface Recent<T> {
  readonly get: (conversation: string) => T | undefined
  readonly set: (conversation: string, value: T) => void
}

/** Number of other conversations whose values are remembered. */
const most = 100_000

/** @param kept the relevant conversations */
export const recent = <T>(kept: ReadonlyMap<string, unknown>): Recent<T> => {
  const values = new Map<string, T>()
  return {
    get: (conversation) => values.get(conversation),
    set: (conversation, value) => {
      values.delete(conversation)
      values.set(conversation, value)
      for (const [oldest, its] of values) {
        if (values.size <= most + kept.size) return
        values.delete(oldest)
        if (kept.has(oldest)) values.set(oldest, its)
      }
    },
  }
}
