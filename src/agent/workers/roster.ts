import { orThrow } from '../../result/fallible.ts'
import { pause } from '../../result/timers.ts'
import { checkOptions, type OptionKinds, kinds } from '../../store/options.ts'
import type { EventStore } from '../../store/port.ts'
import { prefixesOf, readTo } from './feed.ts'
import { type WorkBoard, createWorkBoard } from './work-board.ts'
import { type OpenStepInfo, stepInfos } from './list-steps.ts'
import { restoreSnapshot } from './snapshots.ts'

export interface RosterOptions {
  /** Milliseconds between two reports. Default: a single report. */
  readonly every?: number | undefined
  /** Signal that ends the iteration. */
  readonly signal?: AbortSignal | undefined
}

const fields: OptionKinds<RosterOptions> = { every: kinds.several, signal: kinds.signal }

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
  readonly steps: readonly (Pick<OpenStepInfo, 'conversation' | 'step' | 'attempt'> & {
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
    steps: (held.get(worker) ?? []).map(({ conversation, step, attempt }) => {
      return { conversation, step, attempt, since: known.steps.get(conversation)?.claimedAt ?? heard }
    }),
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
  const { every, signal } = await orThrow(checkOptions(options, fields))
  const known = createWorkBoard(() => true)
  const all = ['']
  let after = await restoreSnapshot(store, all, known, 0)
  let order = 1
  while (!signal?.aborted) {
    after = await readTo(store, prefixesOf(all), after, (event) => known.see(event, order++), signal)
    if (signal?.aborted) return
    yield rosterOf(known)
    if (every === undefined) return
    await pause(every, signal)
  }
}
