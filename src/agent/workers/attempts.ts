import { hash } from 'node:crypto'
import { longestTimer } from '../../result/timers.ts'

/** Number of attempts after which a step is parked. */
export const maxAttempts = 5

/**
 * Rounds a wait requested by the API or a custom model up to whole milliseconds, the unit in which waits are recorded, and caps it at
 * the longest possible timer.
 */
export const wholeWait = (ms: number): number => Math.ceil(Math.min(ms, longestTimer))

/** Returns the milliseconds to wait after this attempt has failed. After the last attempt it returns 0, because the step is parked. */
export const backoff = (attempt: number, retryAfter = 0): number =>
  attempt < maxAttempts ? wholeWait(Math.max(retryAfter, Math.min(60_000, 1_000 * 2 ** (attempt - 1)))) : 0

/**
 * Returns the milliseconds to wait before a step is taken over for this attempt. The first takeover is immediate. Later ones wait,
 * because the step itself may be killing its workers. The wait differs among the steps of a dead worker, so that a step that kills
 * workers does not interrupt the others each time.
 */
export const takeoverDelay = (conversation: string, attempt: number): number => {
  if (attempt <= 2 || attempt > maxAttempts) return 0
  const spread = Number.parseInt(hash('sha1', `${attempt} ${conversation}`).slice(0, 8), 16) / 2 ** 31
  return Math.round(backoff(attempt - 2) * spread)
}
