/** Values by conversation: those of all that are kept, and of those that were set last among the others. */
export interface Recent<T> {
  readonly get: (conversation: string) => T | undefined
  readonly set: (conversation: string, value: T) => void
}

/** Of so many conversations something is remembered although nobody asks about them. */
const most = 100_000

/** @param kept the conversations that matter */
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
