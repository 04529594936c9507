/** The ids of the tool calls and server tool uses in a request. Each id is used only once. */
export interface RequestIds {
  readonly has: (id: string) => boolean
  readonly take: (id: string) => void
  /** Releases the id of a tool call that was left out. */
  readonly free: (id: string) => void
  /**
   * Returns the id with which to send a call: the call's own id if it is free and has no characters that the API refuses, otherwise a
   * variant of it.
   */
  readonly freeFor: (id: string) => string
  readonly clear: () => void
}

export const idsOfRequest = (): RequestIds => {
  const used = new Set<string>()
  // Some clients number their calls from 1 in each turn: the thousandth call with an id need not try the 998 numbers after the first.
  const next = new Map<string, number>()
  return {
    has: (id) => used.has(id),
    take: (id) => used.add(id),
    free: (id) => {
      used.delete(id)
      next.delete(id.replace(/_\d+$/, ''))
    },
    freeFor: (id) => {
      const allowed = id.replace(/[^a-zA-Z0-9_-]/g, '_')
      if (!used.has(allowed)) return allowed
      let n = next.get(allowed) ?? 2
      while (used.has(`${allowed}_${n}`)) n++
      next.set(allowed, n)
      return `${allowed}_${n}`
    },
    clear: () => {
      used.clear()
      next.clear()
    },
  }
}
