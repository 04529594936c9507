import { setTimeout as sleep } from 'node:timers/promises'

/** The longest timeout in Node, in milliseconds: 24 days. A longer timer fires at once. */
export const longestTimer = 2 ** 31 - 1

/** Calls `run` after `ms` milliseconds, or after the longest time that a timer can take. */
export const timer = (ms: number, run: () => void): NodeJS.Timeout =>
  setTimeout(run, Math.min(ms, longestTimer))

/** Resolves after `ms` milliseconds, of any number, or when the signal aborts. */
export const pause = async (ms: number, signal?: AbortSignal): Promise<void> => {
  for (let left = ms; ; left -= longestTimer) {
    await sleep(Math.min(left, longestTimer), undefined, signal && { signal }).catch(() => undefined)
    if (left <= longestTimer || signal?.aborted) return
  }
}
