import type { Roster, Store } from '../index.ts'

/** Time without a report after which a worker counts as dead, in milliseconds. An idle worker reports once a minute. */
const longestSilence = 90_000

/**
 * Makes a function that returns a roster read after the call. Concurrent callers share one reading. Only the first reading covers the
 * whole store; later ones read only new events.
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

const isAlive = ({ heard }: Roster['workers'][number], now: number): boolean =>
  now - Date.parse(heard) < longestSilence

/** Reports whether a living worker could take the step of a conversation, or has it. */
export const isServed = (roster: Roster, conversation: string, now = Date.now()): boolean => {
  const holder = roster.steps.find((step) => step.conversation === conversation)?.holder
  return (
    livingWorkersIn(roster, now).length > 0 ||
    roster.workers.some((worker) => worker.worker === holder && isAlive(worker, now))
  )
}

/** Returns the ids of the workers that could take a step, judging by their last reports. */
export const livingWorkersIn = ({ workers }: Roster, now = Date.now()): readonly string[] =>
  workers
    .filter((worker) => worker.slots !== 0 && !worker.paused && isAlive(worker, now))
    .map(({ worker }) => worker)
