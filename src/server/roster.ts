import type { Roster, Store } from '../index.ts'

/** Time after which a silent worker counts as dead, in milliseconds. An idle worker reports once a minute. */
const longestSilence = 90_000

/**
 * Makes a function that returns a roster read after the call. Concurrent callers share one, and each event of the store is read once:
 * only the first roster reads all of it.
 */
export const rosterOf = (store: Store, signal: AbortSignal): (() => Promise<Roster>) => {
  let rosters: AsyncIterator<Roster> | undefined
  let next: Promise<Roster> | undefined
  let before: Promise<unknown> = Promise.resolve()
  const read = async (): Promise<Roster> => {
    next = undefined
    rosters ??= store.workers({ every: 1, signal })[Symbol.asyncIterator]()
    try {
      const { done, value } = await rosters.next()
      return done ? { workers: [], steps: [], claims: 0 } : value
    } catch (error) {
      rosters = undefined
      throw error
    }
  }
  return () => {
    if (next) return next
    next = before.then(read)
    before = next.catch(() => {})
    return next
  }
}

/** Returns the workers that are able to take a step, according to their last report. */
export const livingWorkersIn = ({ workers }: Roster, now = Date.now()): readonly string[] =>
  workers
    .filter(({ slots, paused, heard }) => slots !== 0 && !paused && now - Date.parse(heard) < longestSilence)
    .map(({ worker }) => worker)
