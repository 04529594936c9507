import { hash } from 'node:crypto'
import { longestTimer } from '../../result/timers.ts'

/** Number of attempts after which a step is parked. */
export const maxAttempts = 5

/** Rounds a wait requested by the API, or by a custom model, up to whole milliseconds, as it is recorded. */
export const wholeWait = (ms: number): number => Math.ceil(Math.min(ms, longestTimer))

/** Returns the milliseconds to wait after this attempt has failed. After the last one, the step is parked without a wait. */
export const backoff = (attempt: number, retryAfter = 0): number =>
  attempt < maxAttempts ? wholeWait(Math.max(retryAfter, Math.min(60_000, 1_000 * 2 ** (attempt - 1)))) : 0

/**
 * Returns the milliseconds to wait before a step is taken over for this attempt: 0 for the first takeover; after that, the step may be
 * what its workers die of. The wait differs between a dead worker's steps, so that the others are not lost with it each time.
 */
export const takeoverDelay = (conversation: string, attempt: number): number => {
  if (attempt <= 2 || attempt > maxAttempts) return 0
  const spread = Number.parseInt(hash('sha1', `${attempt} ${conversation}`).slice(0, 8), 16) / 2 ** 31
  return Math.round(backoff(attempt - 2) * spread)
}
