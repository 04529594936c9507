import type { Clock } from './clock.ts'

/** What waits for something that events bring about. */
export interface ConditionWaiter {
  /** Resolves once something is so, after so many milliseconds, or when the worker has ended. */
  readonly until: (isSo: () => boolean, ms: number) => Promise<void>
  /** Something is different: has all that waits look again. */
  readonly changed: () => void
}

/** @param over the worker has ended */
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
