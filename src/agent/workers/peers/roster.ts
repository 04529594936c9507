import { orThrow } from '../../../result/fallible.ts'
import { pause } from '../../../result/timers.ts'
import { checkOptions, type OptionKinds, kinds, oneOf } from '../../../store/options.ts'
import type { EventStore, RecordedEvent } from '../../../store/port.ts'
import { registerGauges } from '../../telemetry/metrics.ts'
import { prefixesOf, readTo } from '../board/feed.ts'
import type { OpenStep } from '../board/open-step.ts'
import { restoreSnapshot } from '../board/snapshots.ts'
import { type WorkBoard, createWorkBoard } from '../board/work-board.ts'
import { checkPolicy, type WorkPolicy } from '../choosing/policy.ts'
import { type HeldBack, type HoldReason, tenantStatusOf } from '../choosing/tenant-status.ts'

/**
 * State of a step. `open`: available to workers; `claimed`: held by a worker; `waiting`: for approval or a result; `parked`: its
 * attempts have failed.
 */
export type StepState = 'open' | 'claimed' | 'waiting' | 'parked'

export interface StepsOptions {
  /** State of the steps to list. Default: steps in any state. */
  readonly state?: StepState | undefined
  /** Id prefixes of the conversations to include. Default: all conversations. */
  readonly conversations?: readonly string[] | undefined
  /** Policy of the workers, used to report which steps it holds back. */
  readonly policy?: WorkPolicy | undefined
}

const stepKinds: OptionKinds<StepsOptions> = {
  state: oneOf(['open', 'claimed', 'waiting', 'parked'] satisfies readonly StepState[]),
  conversations: kinds.texts,
  policy: kinds.anything,
}

/** A step that was requested from workers, according to the log. */
export interface OpenStepInfo {
  readonly conversation: string
  readonly state: StepState
  /** Reason why no worker takes the step although it is open. Tenants' limits and budgets are taken from the `policy` option. */
  readonly held?: HoldReason
  /** Time at which the next period of the budget begins, if the budget holds the step back: ISO 8601, UTC. */
  readonly heldUntil?: string
  /** Name of the step: the stream and the revision of the event that created it. */
  readonly step: string
  /** Time at which the step was created, or first requested: ISO 8601, UTC. */
  readonly since: string
  /** Number of attempts begun. */
  readonly attempt: number
  /** Time at which workers may try the open step again, if it still waits after a failure and is not paused: ISO 8601, UTC. */
  readonly nextTry?: string
  /** Worker that holds the step; it may have died since. */
  readonly holder?: string
  /** Errors of earlier attempts, oldest first. */
  readonly errors: readonly string[]
  readonly tenant?: string
  readonly priority?: number
}

/** Returns the state of a step; undefined if nothing is left to do. */
const stateOf = ({ stage, holder }: OpenStep): StepState | undefined => {
  if (stage === 'over') return undefined
  return stage === 'open' && holder !== undefined ? 'claimed' : stage
}

/** Latest time that a `Date` can represent: other programs may write to the streams of a server. */
const latest = 8.64e15

/** Returns the listed information about a step; undefined if nothing is left to do. */
const stepInfo = (
  conversation: string,
  step: OpenStep,
  now: number,
  held?: HeldBack,
): OpenStepInfo | undefined => {
  const state = stateOf(step)
  if (state === undefined) return undefined
  const { tenant, priority } = step.asking
  return {
    conversation,
    state,
    ...(state === 'open' && held && { held: held.why }),
    ...(state === 'open' && held?.until !== undefined && { heldUntil: new Date(held.until).toISOString() }),
    step: step.name,
    since: step.since,
    attempt: step.attempt - 1,
    ...(state === 'open' &&
      held?.why !== 'paused' &&
      step.notBefore > now && { nextTry: new Date(Math.min(step.notBefore, latest)).toISOString() }),
    ...(step.holder !== undefined && { holder: step.holder }),
    errors: step.errors,
    ...(tenant !== undefined && { tenant }),
    ...(priority !== undefined && { priority }),
  }
}

/** Returns the work requested from workers, oldest first. */
const stepInfos = (known: WorkBoard): readonly OpenStepInfo[] => {
  const now = Date.now()
  const { held } = tenantStatusOf(known, now)
  return [...known.steps]
    .flatMap(([conversation, step]) => stepInfo(conversation, step, now, held(conversation, step)) ?? [])
    .toSorted((one, other) => (one.since < other.since ? -1 : 1))
}

/** Returns a board by the wall clock that starts with the workers' newest snapshot, and a function that adds all events since. */
const openBoard = async (store: EventStore, conversations: readonly string[], policy?: WorkPolicy) => {
  const serves = (id: string): boolean => conversations.some((prefix) => id.startsWith(prefix))
  const known = createWorkBoard(serves, policy)
  let after = await restoreSnapshot(store, conversations, known, Date.now())
  const see = (event: RecordedEvent): void => known.see(event, Date.now(), Date.now())
  const readOn = async (signal?: AbortSignal): Promise<void> => {
    after = await readTo(store, prefixesOf(conversations), after, see, signal)
  }
  return { known, readOn }
}

/**
 * Yields the work currently requested from workers, oldest first. Reads the workers' newest snapshot and the events after it. Throws a
 * `StoreError` or `InvalidInput` during iteration.
 */
export async function* listSteps(
  store: EventStore,
  options?: StepsOptions,
): AsyncGenerator<OpenStepInfo, void> {
  const { state, conversations = [''], policy } = await orThrow(checkOptions(options, stepKinds))
  const { known, readOn } = await openBoard(store, conversations, await orThrow(checkPolicy(policy)))
  await readOn()
  for (const info of stepInfos(known)) if (state === undefined || state === info.state) yield info
}

/** Random suffix of a worker's id. It is removed because each start of a worker would otherwise begin a new time series. */
const random = /-[0-9a-f-]{36}$/

/**
 * Registers a gauge of the number of known steps in each state.
 *
 * @returns a function that removes the gauge
 */
export const gaugeSteps = (worker: string, { steps }: WorkBoard): (() => void) =>
  registerGauges({ 'palimpsest.worker.name': worker.replace(random, '') }, () => {
    const counts: Record<StepState, number> = { open: 0, claimed: 0, waiting: 0, parked: 0 }
    let oldest = Date.now()
    for (const step of steps.values()) {
      const state = stateOf(step)
      if (state === undefined) continue
      counts[state]++
      if (state === 'open') oldest = Math.min(oldest, Date.parse(step.since))
    }
    return { counts, oldestOpen: (Date.now() - oldest) / 1_000 }
  })

export interface RosterOptions {
  /** Milliseconds between two reports. Default: a single report. */
  readonly every?: number | undefined
  /** Signal that ends the iteration. */
  readonly signal?: AbortSignal | undefined
}

const rosterKinds: OptionKinds<RosterOptions> = { every: kinds.several, signal: kinds.signal }

/** A worker that has not recorded its end. It may have died nevertheless. */
export interface WorkerInfo {
  readonly worker: string
  /** Time of the worker's last sign of life: ISO 8601, UTC. */
  readonly heard: string
  /**
   * Number of conversations that the worker handles at once: fewer than configured while the API refuses calls. Unknown until the first
   * beat.
   */
  readonly slots?: number
  /** True if the worker begins no step until it is resumed. */
  readonly paused: boolean
  /** Current steps of the worker, with the times at which they began (ISO 8601, UTC). */
  readonly steps: readonly (Pick<
    OpenStepInfo,
    'conversation' | 'step' | 'attempt' | 'tenant' | 'priority'
  > & {
    readonly since: string
  })[]
}

/** Workers, and the work requested from them. */
export interface Roster {
  readonly workers: readonly WorkerInfo[]
  /** Work requested from workers, oldest first. */
  readonly steps: readonly OpenStepInfo[]
  /** Number of claims so far. */
  readonly claims: number
}

const rosterOf = (known: WorkBoard): Roster => {
  const steps = stepInfos(known)
  const held = Map.groupBy(steps, ({ holder }) => holder)
  const workers = [...known.workers].map(([worker, { heard, slots, isPaused = false }]) => ({
    worker,
    heard,
    ...(slots !== undefined && { slots }),
    paused: isPaused,
    steps: (held.get(worker) ?? []).map(({ conversation, step, attempt, tenant, priority }) => ({
      conversation,
      step,
      attempt,
      since: known.steps.get(conversation)?.claimedAt ?? heard,
      ...(tenant !== undefined && { tenant }),
      ...(priority !== undefined && { priority }),
    })),
  }))
  // A program has no slots; it is listed only while it holds a step.
  const working = workers.filter((each) => each.slots !== 0 || each.steps.length > 0)
  return { workers: working, steps, claims: known.claims() }
}

/**
 * Yields the workers and their work, once or repeatedly. Each event is read only once. Throws a `StoreError` or `InvalidInput` during
 * iteration.
 */
export async function* rosters(store: EventStore, options?: RosterOptions): AsyncGenerator<Roster, void> {
  const { every, signal } = await orThrow(checkOptions(options, rosterKinds))
  const { known, readOn } = await openBoard(store, [''])
  while (!signal?.aborted) {
    await readOn(signal)
    if (signal?.aborted) return
    yield rosterOf(known)
    if (every === undefined) return
    await pause(every, signal)
  }
}
