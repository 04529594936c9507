import { orThrow } from '../../result/fallible.ts'
import { checkOptions, type OptionKinds, kinds, oneOf } from '../../store/options.ts'
import type { EventStore } from '../../store/port.ts'
import { prefixesOf, readTo } from './feed.ts'
import { type HoldReason, tenantStatusOf } from './tenant-status.ts'
import { type WorkBoard, createWorkBoard } from './work-board.ts'
import type { OpenStep } from './open-step.ts'
import { checkPolicy, type WorkPolicy } from './policy.ts'
import { restoreSnapshot } from './snapshots.ts'

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

const fields: OptionKinds<StepsOptions> = {
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
  /** Name of the step: the stream and the revision of the event that created it. */
  readonly step: string
  /** Time at which the event that created the step was recorded: ISO 8601, UTC. */
  readonly since: string
  /** Number of attempts begun. */
  readonly attempt: number
  /** Worker that holds the step; it may have died since. */
  readonly holder?: string
  /** Errors of earlier attempts, oldest first. */
  readonly errors: readonly string[]
  readonly tenant?: string
  readonly priority?: number
}

/** Returns the state of a step; undefined if nothing is left to do. */
export const stateOf = ({ stage, holder }: OpenStep): StepState | undefined => {
  if (stage === 'over') return undefined
  return stage === 'open' && holder !== undefined ? 'claimed' : stage
}

/** Returns the listed information about a step; undefined if nothing is left to do. */
const stepInfo = (conversation: string, step: OpenStep, held?: HoldReason): OpenStepInfo | undefined => {
  const state = stateOf(step)
  if (state === undefined) return undefined
  const { tenant, priority } = step.asking
  return {
    conversation,
    state,
    ...(state === 'open' && held && { held }),
    step: step.name,
    since: step.since,
    attempt: step.attempt - 1,
    ...(step.holder !== undefined && { holder: step.holder }),
    errors: step.errors,
    ...(tenant !== undefined && { tenant }),
    ...(priority !== undefined && { priority }),
  }
}

/** Returns the work requested from workers, oldest first. */
export const stepInfos = (known: WorkBoard): readonly OpenStepInfo[] => {
  const { held } = tenantStatusOf(known, Date.now())
  return [...known.steps]
    .flatMap(([conversation, step]) => stepInfo(conversation, step, held(conversation, step)?.why) ?? [])
    .toSorted((one, other) => (one.since < other.since ? -1 : 1))
}

/**
 * Yields the work currently requested from workers, oldest first. Reads the workers' newest snapshot and the events after it. Throws a
 * `StoreError` or `InvalidInput` during iteration.
 */
export async function* listSteps(
  store: EventStore,
  options?: StepsOptions,
): AsyncGenerator<OpenStepInfo, void> {
  const { state, conversations = [''], policy } = await orThrow(checkOptions(options, fields))
  const serves = (id: string): boolean => conversations.some((prefix) => id.startsWith(prefix))
  const known = createWorkBoard(serves, await orThrow(checkPolicy(policy)))
  const from = await restoreSnapshot(store, conversations, known, 0)
  let order = 1
  await readTo(store, prefixesOf(conversations), from, (event) => known.see(event, order++))
  for (const info of stepInfos(known)) if (state === undefined || state === info.state) yield info
}
