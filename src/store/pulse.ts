import { timer } from '../result/timers.ts'

/** Notifier that wakes all waiting callers when something changes. */
export interface Pulse {
  /**
   * Returns the number of changes reported so far with `beat`. Read it before looking for changes, so that no change in the meantime is
   * missed.
   */
  readonly beats: () => number
  readonly beat: () => void
  /** Resolves at the first beat after beat number `seen`, after `ms` milliseconds, or when the signal aborts. */
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
          clearTimeout(late)
          waiting.delete(wake)
          signal?.removeEventListener('abort', wake)
          resolve()
        }
        const late = timer(ms, wake)
        waiting.add(wake)
        signal?.addEventListener('abort', wake)
        if (beats > seen || signal?.aborted) wake()
      }),
  }
}
