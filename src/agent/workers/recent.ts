/** Values by conversation, for all `kept` conversations and for the others whose values were set most recently. */
export interface Recent<T> {
  readonly get: (conversation: string) => T | undefined
  readonly set: (conversation: string, value: T) => void
}

/** Maximum number of conversations outside `kept` whose values are remembered. */
const most = 100_000

/**
 * Creates an empty collection of values.
 *
 * @param kept conversations whose values are never dropped
 */
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
