import type { OpenStep } from './open-step.ts'
import type { PeriodUsage } from './usage-tracker.ts'

// State of the work board at a checkpoint of the store, for an observer that begins there: plain data, independent of any clock.

/** Version of the rules that derive the board from events. Increment it when they change, or when the snapshot gains a field. */
export const rules = 8

/** A step in a snapshot, without the times measured by the observer's clock. */
export interface CarriedStep extends Omit<OpenStep, 'waitsSince' | 'freeAt' | 'notBefore'> {
  readonly conversation: string
  /** Milliseconds that the step still has to wait, counted from the time at which the snapshot is read. Default 0. */
  readonly waitMs?: number | undefined
  /** Last revision of the conversation's log of turns, if known. */
  readonly turnsAt?: number | undefined
}

export interface CarriedWorker {
  readonly worker: string
  /** Time of the worker's last sign of life: ISO 8601, UTC. */
  readonly heard: string
  /** Number of steps that the worker can take at once; unknown until its first beat. */
  readonly slots?: number | undefined
  /** True if the worker must not begin any step. */
  readonly isPaused?: boolean | undefined
  /** True for a standby worker, which takes only steps during which other workers died. */
  readonly isStandby?: boolean | undefined
}

export interface WorkSnapshot {
  readonly steps: readonly CarriedStep[]
  readonly workers: readonly CarriedWorker[]
  readonly claims: number
  /** Paused conversations, in which workers begin no step. */
  readonly paused?: readonly string[] | undefined
  readonly spending?: readonly PeriodUsage[] | undefined
}

export const carriedStepOf = (
  conversation: string,
  open: OpenStep,
  turnsAt: number | undefined,
): CarriedStep => {
  const { waitsSince: _, freeAt, notBefore, ...step } = open
  return {
    conversation,
    ...step,
    ...(notBefore > freeAt && { waitMs: Math.round(notBefore - freeAt) }),
    ...(turnsAt !== undefined && { turnsAt }),
  }
}

/** Returns a step restored from a snapshot, as if all of its events had been received now. */
export const restoreCarriedStep = (
  { waitMs = 0, ...step }: Omit<CarriedStep, 'conversation' | 'turnsAt'>,
  now: number,
): OpenStep => ({ ...step, waitsSince: now, freeAt: now, notBefore: now + waitMs })
