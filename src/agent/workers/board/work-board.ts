import { workerOf } from '../../../events/ids.ts'
import type { TurnEventData } from '../../../events/turn-events.ts'
import type { RecordedEvent } from '../../../store/port.ts'
import { createUsageTracker, policyFor, type UsageTracker, type WorkPolicy } from '../choosing/policy.ts'
import { type TenantFairness, fairness, type Lanes, lanes } from './lanes.ts'
import { evolveStep, type OpenStep, tenantOf, withExit, withoutHolder } from './open-step.ts'
import {
  ageOf,
  beginsSample,
  conversationIn,
  fieldsIn,
  mayMatter,
  readEvent,
  restOfWait,
  seenEventOf,
} from './seen-event.ts'
import {
  type CarriedStep,
  carriedStepOf,
  type CarriedWorker,
  restoreCarriedStep,
  type WorkSnapshot,
} from './work-snapshot.ts'

/** A worker as known to its observers. */
export interface KnownWorker extends Omit<CarriedWorker, 'worker'> {
  /** Time at which the observer last received anything from the worker, by the observer's own clock. */
  readonly heardAt: number
}

/** An observer's view of steps and workers: a fold over the events of their streams and the times at which they were received. */
export interface WorkBoard {
  readonly steps: ReadonlyMap<string, OpenStep>
  readonly workers: ReadonlyMap<string, KnownWorker>
  /** Paused conversations, in which workers begin no step. */
  readonly paused: ReadonlySet<string>
  readonly policy: WorkPolicy
  readonly lanes: Omit<Lanes, 'changed'>
  readonly spending: UsageTracker
  readonly fairness: TenantFairness
  /** Returns the last known revision of a conversation's turn log; undefined if none of its events has been received. */
  readonly turnsAt: (conversation: string) => number | undefined
  /** Returns the last revision of a conversation's inbox; undefined if no event of it was received. */
  readonly mailAt: (conversation: string) => number | undefined
  /** Returns the conversation's last claim, if received: the worker that made it, and the claim's number among all claims. */
  readonly lastClaim: (conversation: string) => LastClaim | undefined
  readonly claims: () => number
  /**
   * Reports whether a standby worker exists, or existed within the preceding `within` milliseconds. In the latter case, another is
   * about to take its place.
   */
  readonly hasStandby: (now: number, within: number) => boolean
  /**
   * Processes the next event of the store.
   *
   * @param time wall-clock time, in milliseconds since 1970, if the event was recorded before the observer had caught up: what is left
   * of a wait is then counted from the time at which it was recorded. Default: the event is new
   */
  readonly see: (event: RecordedEvent, now: number, time?: number) => void
  /** Treats every worker as alive at `now`, because a worker's silence during the disconnection means nothing. */
  readonly reconnected: (now: number) => void
  /** Forgets workers that hold nothing and have been silent since the given time. */
  readonly forget: (since: number) => void
  /** Returns a snapshot of the board, for an observer that starts after the last event. */
  readonly carried: (now: number) => WorkSnapshot
  /**
   * Restores a snapshot in place of all events before it.
   *
   * @param age milliseconds since the snapshot was recorded. Default 0
   */
  readonly restore: (carried: WorkSnapshot, now: number, age?: number) => void
}

interface LastClaim {
  readonly worker: string
  readonly order: number
}

/** Maximum number of conversations without a step whose values are remembered. */
const mostRecent = 100_000

/**
 * Creates an empty collection of values by conversation: of all `kept` conversations, and of the others whose values were set most
 * recently.
 */
const recent = <T>(kept: ReadonlyMap<string, unknown>) => {
  const values = new Map<string, T>()
  const set = (conversation: string, value: T): void => {
    values.delete(conversation)
    values.set(conversation, value)
    for (const [oldest, its] of values) {
      if (values.size <= mostRecent + kept.size) return
      values.delete(oldest)
      if (kept.has(oldest)) values.set(oldest, its)
    }
  }
  return { get: (conversation: string): T | undefined => values.get(conversation), set }
}

/**
 * Creates an empty work board.
 *
 * @param serves reports whether a conversation is relevant
 * @param answersAll true to answer every conversation that awaits the model, not only requested ones
 */
export const createWorkBoard = (
  serves: (conversation: string) => boolean,
  policy: WorkPolicy = {},
  answersAll = false,
): WorkBoard => {
  const steps = new Map<string, OpenStep>()
  /** Steps of conversations in which only programs run turns, because no answer was requested from workers. */
  const others = new Map<string, OpenStep>()
  const workers = new Map<string, KnownWorker>()
  const turns = recent<number>(steps)
  const mail = recent<number>(steps)
  const lastClaims = recent<LastClaim>(steps)
  const paused = new Set<string>()
  /** Forks that sample a model again: the program that created them requests the answers. */
  const samples = new Set<string>()
  const open = lanes()
  const spent = createUsageTracker(policy.prices)
  const fair = fairness((tenant) => policyFor(policy, tenant).weight ?? 1)
  let claims = 0
  /** Time at which a worker last stopped standing by. */
  let standbyLeft = -Infinity
  /** Conversation whose model has finished, unless more events of the same write follow. */
  let over: string | undefined

  const setStep = (conversation: string, step: OpenStep | undefined): void => {
    const asked = step?.isProgram ? undefined : step
    open.changed(conversation, steps.get(conversation), asked)
    if (asked) steps.set(conversation, asked)
    else steps.delete(conversation)
    if (step?.isProgram) others.set(conversation, step)
    else others.delete(conversation)
  }

  const claimed = (
    conversation: string,
    { worker, isTurn }: Pick<TurnEventData['TurnClaimed'], 'worker' | 'isTurn'>,
    heard: string,
    now: number,
  ): void => {
    lastClaims.set(conversation, { worker, order: claims++ })
    const step = steps.get(conversation)
    if (step) fair.claimed(tenantOf(step))
    // A program takes no steps from the board, so it has no slots.
    workers.set(worker, { ...(isTurn && { slots: 0 }), ...workers.get(worker), heard, heardAt: now })
  }

  const seeWorker = (
    worker: string,
    { type, data, metadata }: RecordedEvent,
    now: number,
    time?: number,
  ): void => {
    const heard = String(fieldsIn(metadata)['time'])
    const { slots, standby } = fieldsIn(data)
    const { isPaused, ...known } = workers.get(worker) ?? { heard, heardAt: now }
    switch (type) {
      case 'WorkerPaused':
        workers.set(worker, { ...known, isPaused: true })
        return
      case 'WorkerResumed':
        workers.set(worker, known)
        return
      case 'WorkerStopped': {
        if (known.isStandby) standbyLeft = now
        workers.delete(worker)
        const age = time === undefined ? 0 : ageOf(heard, time)
        const { reason } = fieldsIn(data)
        for (const [conversation, step] of steps)
          if (step.holder === worker)
            setStep(conversation, withoutHolder(conversation, step, now, age, reason))
          else {
            const told = withExit(step, worker, reason)
            if (told !== step) setStep(conversation, told)
          }
        for (const [conversation, { holder }] of others) if (holder === worker) others.delete(conversation)
        return
      }
      default:
        // Recorded by the worker itself, which is therefore alive.
        if (known.isStandby && standby !== true) standbyLeft = now
        workers.set(worker, {
          ...(isPaused && { isPaused }),
          ...(standby === true && { isStandby: true }),
          slots: typeof slots === 'number' ? slots : undefined,
          heard,
          heardAt: now,
        })
    }
  }

  const seeTurns = (conversation: string, { type, revision }: RecordedEvent): void => {
    turns.set(conversation, revision)
    if (type === 'TurnsPaused') paused.add(conversation)
    if (type === 'TurnsResumed') paused.delete(conversation)
  }

  const seeConversation = (conversation: string, event: RecordedEvent, now: number, time?: number): void => {
    if (event.stream.startsWith('turns-')) seeTurns(conversation, event)
    if (event.stream.startsWith('inbox-')) mail.set(conversation, event.revision)
    if (answersAll && beginsSample(event)) samples.add(conversation)
    const isAnswered = answersAll && !samples.has(conversation)
    const before = steps.get(conversation) ?? others.get(conversation)
    if (!before && !isAnswered && !mayMatter(event)) return
    const read = readEvent(event)
    if (before && before.stage !== 'over') spent.see(tenantOf(before), read)
    const seen = restOfWait(seenEventOf(conversation, read), time)
    const step = evolveStep(before, seen, now, isAnswered)
    if (over !== undefined && over !== conversation) setStep(over, undefined)
    over = step?.stage === 'over' ? conversation : undefined
    setStep(conversation, step)
    if (seen.what.type === 'TurnClaimed') claimed(conversation, seen.what.data, seen.time, now)
  }

  const restoreStep = ({ conversation, turnsAt, ...step }: CarriedStep, now: number, age: number): void => {
    setStep(conversation, restoreCarriedStep(step, now, age))
    if (turnsAt !== undefined) turns.set(conversation, turnsAt)
    if (step.stage === 'over') over = conversation
  }

  return {
    steps,
    workers,
    paused,
    policy,
    lanes: open,
    spending: spent,
    fairness: fair,
    turnsAt: (conversation) => turns.get(conversation),
    mailAt: (conversation) => mail.get(conversation),
    lastClaim: (conversation) => lastClaims.get(conversation),
    claims: () => claims,
    hasStandby: (now, within) =>
      now - standbyLeft < within || workers.values().some(({ isStandby }) => isStandby),
    see: (event, now, time) => {
      const conversation = conversationIn(event.stream)
      const worker = workerOf(event.stream)
      if (worker !== undefined) seeWorker(worker, event, now, time)
      else if (conversation !== undefined && serves(conversation))
        seeConversation(conversation, event, now, time)
    },
    reconnected: (now) => {
      for (const [worker, known] of workers) workers.set(worker, { ...known, heardAt: now })
    },
    forget: (since) => {
      for (const [worker, { heardAt }] of workers)
        if (heardAt < since && open.withWorker(worker) === 0) workers.delete(worker)
    },
    carried: (now) => ({
      steps: [...steps, ...others]
        .toSorted(([, one], [, other]) => one.waitsSince - other.waitsSince)
        .map(([conversation, step]) => carriedStepOf(conversation, step, turns.get(conversation), now)),
      workers: [...workers].map(([worker, { heard, slots, isPaused, isStandby }]) => {
        return { worker, heard, slots, ...(isPaused && { isPaused }), ...(isStandby && { isStandby }) }
      }),
      claims,
      paused: [...paused],
      spending: spent.carried(),
    }),
    restore: (carried, now, age = 0) => {
      claims = carried.claims
      for (const step of carried.steps) if (serves(step.conversation)) restoreStep(step, now, age)
      for (const { worker, ...its } of carried.workers) workers.set(worker, { ...its, heardAt: now })
      for (const conversation of carried.paused ?? []) if (serves(conversation)) paused.add(conversation)
      spent.restore(carried.spending ?? [])
    },
  }
}
