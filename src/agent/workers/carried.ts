import type { OpenStep } from './open-step.ts'
import type { PeriodUsage } from './spending.ts'

// What is known at a place of the store, for an observer that begins there: plain data, which depends on nobody's clock.

/** Version of the rules by which events become what is known. Changed rules, or something more to carry, make it one more. */
export const rules = 8

/** A step without the times of its observer's clock. */
export interface CarriedStep extends Omit<OpenStep, 'waitsSince' | 'freeAt' | 'notBefore'> {
  readonly conversation: string
  /** How long it has to wait from when this is read, in milliseconds. Default 0. */
  readonly waitMs?: number | undefined
  /** The last revision of the stream of the conversation's turns, if it is known. */
  readonly turnsAt?: number | undefined
}

export interface CarriedWorker {
  readonly worker: string
  /** When it last said something: ISO 8601, UTC. */
  readonly heard: string
  /** How many steps it can take at once; unknown until its first beat. */
  readonly slots?: number | undefined
  /** It is not to begin any. */
  readonly isPaused?: boolean | undefined
  /** It stands by: it only takes what others have died of. */
  readonly isStandby?: boolean | undefined
}

export interface WorkSnapshot {
  readonly steps: readonly CarriedStep[]
  readonly workers: readonly CarriedWorker[]
  /** How many claims there were. */
  readonly claims: number
  /** The conversations of which workers begin no step. */
  readonly paused?: readonly string[] | undefined
  readonly spending?: readonly PeriodUsage[] | undefined
}

export const carriedStep = (
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

/** The step, as if all of its events had been received now. */
export const restoredStep = (
  { waitMs = 0, ...step }: Omit<CarriedStep, 'conversation' | 'turnsAt'>,
  now: number,
): OpenStep => ({ ...step, waitsSince: now, freeAt: now, notBefore: now + waitMs })
