// Who works on what, and what waits for whom, as the page tells it.

/** Of `GET /turns`: something that workers are asked to do. */
export interface BoardStep {
  readonly conversation: string
  readonly state: 'open' | 'claimed' | 'waiting' | 'parked'
  /** Why no worker takes it, though it is open. */
  readonly held?: 'paused' | 'budget' | 'limit' | undefined
  readonly since: string
  /** How many attempts were begun. */
  readonly attempt: number
  readonly holder?: string | undefined
  readonly errors: readonly string[]
  readonly tenant?: string | undefined
  readonly priority?: number | undefined
}

/** Of `GET /workers`. */
export interface BoardWorker {
  readonly worker: string
  readonly heard: string
  readonly slots?: number | undefined
  readonly paused: boolean
  readonly steps: readonly {
    readonly conversation: string
    readonly attempt: number
    readonly since: string
  }[]
}

/** The steps by what has to happen next, those that wait longest first. */
export interface Board {
  /** Somebody has to decide, or bring a result. */
  readonly waiting: readonly BoardStep[]
  /** Every attempt has failed. */
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

/** What there is to say of a step besides its state. */
export const notesOf = ({ held, attempt, tenant, priority, errors }: BoardStep): readonly string[] => [
  ...(held === undefined ? [] : [heldWords[held]]),
  ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ...(errors.length > 0 ? [`last error: ${errors.at(-1)}`] : []),
  ...(tenant === undefined ? [] : [`for ${tenant}`]),
  ...(priority === undefined ? [] : [`priority ${priority}`]),
]

/** A worker with nothing to do says that it lives once a minute. Longer silent, it has probably died, in milliseconds. */
const longestSilence = 90_000

export type Health = 'working' | 'idle' | 'paused' | 'silent'

/** How a worker is doing at a time (ms since 1970). One that works may be silent: the call of a model takes long. */
export const healthOf = ({ heard, paused, steps }: BoardWorker, now: number): Health => {
  if (paused) return 'paused'
  if (now - Date.parse(heard) > longestSilence) return 'silent'
  return steps.length > 0 ? 'working' : 'idle'
}
