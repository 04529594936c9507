import { hash } from 'node:crypto'
import { longestTimer } from '../../result/timers.ts'

/** After so many attempts a step is parked. */
export const maxAttempts = 5

/** What the API, or a model of the program's own, asks to wait, as it is recorded: whole milliseconds. */
export const wholeWait = (ms: number): number => Math.ceil(Math.min(ms, longestTimer))

/** How long to wait after this attempt has failed, in milliseconds. After the last one the step is parked, without a wait. */
export const backoff = (attempt: number, retryAfter = 0): number =>
  attempt < maxAttempts ? wholeWait(Math.max(retryAfter, Math.min(60_000, 1_000 * 2 ** (attempt - 1)))) : 0

/**
 * How long to wait before a step is taken over for this attempt, in milliseconds. The first time it is not; from then on the step may be
 * what its workers die of. What they had besides it waits for other times, so that it does not die with each of them too.
 */
export const mourning = (conversation: string, attempt: number): number => {
  if (attempt <= 2 || attempt > maxAttempts) return 0
  const spread = Number.parseInt(hash('sha1', `${attempt} ${conversation}`).slice(0, 8), 16) / 2 ** 31
  return Math.round(backoff(attempt - 2) * spread)
}
