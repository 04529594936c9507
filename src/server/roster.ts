import type { Roster, Store } from '../index.ts'

/** A worker with nothing to do says that it lives once a minute. Longer silent, it has died unnoticed, in milliseconds. */
const longestSilence = 90_000

/**
 * Who works on what, as of after it was asked for. Those who ask at the same time share an answer, and each event of the store is read
 * once: only the first answer reads what there is.
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

/** The workers that may take a step, by what was heard of them last. */
export const livingIn = ({ workers }: Roster, now = Date.now()): readonly string[] =>
  workers
    .filter(({ slots, paused, heard }) => slots !== 0 && !paused && now - Date.parse(heard) < longestSilence)
    .map(({ worker }) => worker)
