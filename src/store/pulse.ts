/** Wakes those who wait for something to happen. */
export interface Pulse {
  /** How many beats there were. Read it before you look; then a beat that comes while you look is not missed. */
  readonly beats: () => number
  readonly beat: () => void
  /** Resolves at the first beat after `seen` of them, after `ms` milliseconds, or when the signal aborts. */
  readonly next: (seen: number, ms: number, signal: AbortSignal | undefined) => Promise<void>
}

export const pulse = (): Pulse => {
  let beats = 0
  const waiting = new Set<() => void>()
  return {
    beats: () => beats,
    beat: () => {
      beats++
      for (const wake of waiting) wake()
    },
    next: (seen, ms, signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer)
          waiting.delete(wake)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const timer = setTimeout(wake, Math.min(ms, 2 ** 31 - 1))
        waiting.add(wake)
        signal?.addEventListener('abort', wake)
        if (beats > seen || signal?.aborted) wake()
      }),
  }
}
