import { timer } from '../result/timers.ts'

/** Wakes everybody who is waiting for a change. */
export interface Pulse {
  /** The number of beats so far. Read it before you look for changes, so that a beat meanwhile is not missed. */
  readonly beats: () => number
  readonly beat: () => void
  /** Resolves at the first beat after number `seen`, after `ms` milliseconds, or when the signal aborts. */
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
