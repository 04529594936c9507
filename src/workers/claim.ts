import { START } from '../events/events.ts'
import type { TurnFact } from '../events/turn-events.ts'
import type { OpenStep } from './open-step.ts'

/** After so many attempts a step is parked. */
export const maxAttempts = 5

/** What a worker records to take a step: a claim, or, where too many attempts have failed, that it is parked. */
export const claim = (
  { name: step, attempt, errors }: OpenStep,
  worker: string,
): TurnFact<'TurnClaimed' | 'TurnParked'> =>
  attempt > maxAttempts
    ? { type: 'TurnParked', data: { step, attempts: attempt - 1, errors, at: START } }
    : { type: 'TurnClaimed', data: { step, worker, attempt, at: START } }

/** How long to wait after this attempt has failed, in milliseconds. */
export const backoff = (attempt: number, retryAfter = 0): number =>
  Math.max(retryAfter, Math.min(60_000, 1_000 * 2 ** (attempt - 1)))
