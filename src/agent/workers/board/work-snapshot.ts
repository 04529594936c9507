import * as E from 'fp-ts/lib/Either.js'
import type { OpenStep } from './open-step.ts'
import type { PeriodUsage } from '../choosing/policy.ts'
import { check } from '../../../events/check.ts'
import type { StoredEvent } from '../../../events/codec.ts'
import { leastPrefixes, type SettledData, settledSchema } from '../../../events/settled-data.ts'
import type { Checkpoint } from '../../../store/port.ts'
import { fieldsIn } from './seen-event.ts'

// State of the work board at a checkpoint of the store, for an observer that begins there: plain data, independent of any clock.

/** Version of the rules that derive the board from events. Increment it when they change, or when the snapshot gains a field. */
export const rules = 8

/** A step in a snapshot, without the times measured by the observer's clock. */
export interface CarriedStep extends Omit<OpenStep, 'waitsSince' | 'freeAt' | 'notBefore'> {
  readonly conversation: string
  /** Milliseconds that the step still had to wait when the snapshot was recorded. Default 0. */
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
  now: number,
): CarriedStep => {
  const { waitsSince: _, freeAt: __, notBefore, ...step } = open
  return {
    conversation,
    ...step,
    ...(notBefore > now && { waitMs: Math.round(notBefore - now) }),
    ...(turnsAt !== undefined && { turnsAt }),
  }
}

/**
 * Returns a step restored from a snapshot, as if all of its events had been received now.
 *
 * @param age milliseconds since the snapshot was recorded, by the clocks of two machines: it never lengthens a wait
 */
export const restoreCarriedStep = (
  { waitMs = 0, ...step }: Omit<CarriedStep, 'conversation' | 'turnsAt'>,
  now: number,
  age: number,
): OpenStep => ({ ...step, waitsSince: now, freeAt: now, notBefore: now + Math.max(0, waitMs - age) })

// A snapshot of the board is recorded as one event, or as several if there are many steps.

/** Snapshot of the board at a checkpoint of the store. */
export interface BoardSnapshot {
  readonly checkpoint: Checkpoint
  readonly known: WorkSnapshot
}

/** Maximum size of the steps recorded in one event, in characters. */
const partLength = 256 * 1024

const lists = (steps: readonly CarriedStep[]): readonly (readonly CarriedStep[])[] => {
  let list: CarriedStep[] = []
  const all = [list]
  let length = 0
  for (const step of steps) {
    const its = JSON.stringify(step).length
    if (list.length > 0 && length + its > partLength) {
      all.push((list = []))
      length = 0
    }
    list.push(step)
    length += its
  }
  return all
}

/** Returns the events that record a snapshot, in order. */
export const partsOf = (
  { checkpoint, known }: BoardSnapshot,
  conversations: readonly string[],
): readonly SettledData[] =>
  lists(known.steps).map((steps, part, { length }) => ({
    checkpoint,
    rules,
    conversations: leastPrefixes(conversations),
    steps,
    workers: part === 0 ? known.workers : [],
    claims: known.claims,
    ...(part === 0 && { paused: known.paused, spending: known.spending }),
    part,
    ...(part < length - 1 && { continues: true as const }),
  }))

/**
 * Returns the part of a snapshot that an event contains, if the snapshot covers these conversations. Returns undefined for any other
 * event, and for a snapshot made with another version of the rules.
 */
export const partIn = (
  { type, data }: StoredEvent,
  conversations: readonly string[],
): SettledData | undefined => {
  const checked = type === 'Settled' ? check(settledSchema, fieldsIn(data)) : undefined
  if (!checked || E.isLeft(checked) || checked.right.rules !== rules) return undefined
  const part = checked.right
  const isCovered = (prefix: string): boolean => part.conversations.some((its) => prefix.startsWith(its))
  return conversations.every(isCovered) ? part : undefined
}

/** Reports whether one part of a snapshot directly precedes another. */
export const isBefore = (one: SettledData, next: SettledData): boolean =>
  one.checkpoint === next.checkpoint && one.part === next.part - 1 && one.continues === true

/** Joins the parts of a snapshot. */
export const joinParts = (
  parts: readonly SettledData[],
  { checkpoint, claims }: SettledData,
): BoardSnapshot => {
  const steps = parts.flatMap((part) => part.steps) as readonly CarriedStep[]
  const [{ workers, paused, spending } = { workers: [] }] = parts
  const known = { steps, workers, claims, paused, spending } as WorkSnapshot
  return { checkpoint, known }
}
