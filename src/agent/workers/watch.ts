import type { Clock } from './clock.ts'

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
