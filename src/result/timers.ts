import { setTimeout as sleep } from 'node:timers/promises'

/** Longest timeout in Node, in milliseconds (24 days). A longer timer fires at once. */
export const longestTimer = 2 ** 31 - 1

/** Calls `run` after `ms` milliseconds, but after `longestTimer` at the latest. */
export const timer = (ms: number, run: () => void): NodeJS.Timeout =>
  setTimeout(run, Math.min(ms, longestTimer))

/** Resolves after `ms` milliseconds, which may exceed `longestTimer`, or when the signal aborts. */
export const pause = async (ms: number, signal?: AbortSignal): Promise<void> => {
  for (let left = ms; ; left -= longestTimer) {
    await sleep(Math.min(left, longestTimer), undefined, signal && { signal }).catch(() => undefined)
    if (left <= longestTimer || signal?.aborted) return
  }
}
