import type { BoardStep, BoardWorker } from '../source/answers.ts'

// Workers and steps, grouped and described for the page.

/** Steps by state, each list starting with the step that has been in its state longest. */
export interface Board {
  /** Steps that wait for a person's decision or for an external result. */
  readonly waiting: readonly BoardStep[]
  /** Steps that workers no longer try, because all attempts have failed. */
  readonly parked: readonly BoardStep[]
  readonly inProgress: readonly BoardStep[]
  readonly open: readonly BoardStep[]
}

export const boardOf = (steps: readonly BoardStep[]): Board => {
  const of = (state: BoardStep['state']): readonly BoardStep[] =>
    steps
      .filter((step) => step.state === state)
      .toSorted((one, other) => (one.since < other.since ? -1 : one.since > other.since ? 1 : 0))
  return { waiting: of('waiting'), parked: of('parked'), inProgress: of('claimed'), open: of('open') }
}

const heldWords = {
  paused: 'paused',
  budget: 'its tenant has spent its budget',
  limit: 'its tenant has reached its limit',
} as const

/** Returns the notes on a step: why it is on hold, its attempt, last error, tenant and priority. */
export const notesOf = ({ held, attempt, tenant, priority, errors }: BoardStep): readonly string[] => [
  ...(held === undefined ? [] : [heldWords[held]]),
  ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ...(errors.length > 0 ? [`last error: ${errors.at(-1)}`] : []),
  ...(tenant === undefined ? [] : [`for ${tenant}`]),
  ...(priority === undefined ? [] : [`priority ${priority}`]),
]

/** Milliseconds of silence after which a worker has probably died. An idle worker reports once a minute. */
const longestSilence = 90_000

export type Health = 'working' | 'idle' | 'paused' | 'silent'

/** Returns the health of a worker at a time (ms since 1970). A silent worker may still be working, because a model call can take long. */
export const healthOf = ({ heard, paused, steps }: BoardWorker, now: number): Health => {
  if (paused) return 'paused'
  if (now - Date.parse(heard) > longestSilence) return 'silent'
  return steps.length > 0 ? 'working' : 'idle'
}
