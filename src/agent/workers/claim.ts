import { START } from '../../events/events.ts'
import type { TurnFact } from '../../events/turn-events.ts'
import { maxAttempts } from './attempts.ts'
import type { OpenStep } from './open-step.ts'

/** Returns the fact to record when a worker tries to take a step: a claim or, after too many failed attempts, a fact that parks the step. */
export const claim = (
  { name: step, attempt, errors }: OpenStep,
  worker: string,
): TurnFact<'TurnClaimed' | 'TurnParked'> =>
  attempt > maxAttempts
    ? { type: 'TurnParked', data: { step, attempts: attempt - 1, errors, at: START } }
    : { type: 'TurnClaimed', data: { step, worker, attempt, at: START } }
