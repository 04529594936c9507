import type { Clock } from '../../../conversation/beside/party.ts'
import { timer } from '../../../result/timers.ts'
export type { Clock } from '../../../conversation/beside/party.ts'

export const ownClock: Clock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const started = timer(ms, run)
    return () => clearTimeout(started)
  },
}

/** Resolves after `ms` milliseconds, or when the signal aborts. */
export const pause = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = (): void => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    signal.addEventListener('abort', end)
  })

/** Returns the result of `work`; undefined if it takes longer than `ms` milliseconds. */
export const within = async <A>(clock: Clock, ms: number, work: Promise<A>): Promise<A | undefined> => {
  const ends = new AbortController()
  try {
    return await Promise.race([work, pause(clock, ms, ends.signal).then(() => undefined)])
  } finally {
    ends.abort()
  }
}

/** Helper that waits for conditions that received events may fulfil. */
export interface ConditionWaiter {
  /** Resolves once the condition holds, after `ms` milliseconds, or when the worker has ended. */
  readonly until: (isSo: () => boolean, ms: number) => Promise<void>
  /** Checks all awaited conditions again after a change. */
  readonly changed: () => void
}

/**
 * Creates a helper that waits for conditions.
 *
 * @param over signal that aborts when the worker has ended
 */
export const watch = (clock: Clock, over: AbortSignal): ConditionWaiter => {
  const waiting = new Set<() => void>()
  const changed = (): void => {
    for (const check of waiting) check()
  }
  over.addEventListener('abort', changed, { once: true })
  return {
    until: (isSo, ms) =>
      new Promise((resolve) => {
        const cancel = clock.after(ms, () => end())
        const check = (): void => {
          if (over.aborted || isSo()) end()
        }
        const end = (): void => {
          cancel()
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    changed,
  }
}
