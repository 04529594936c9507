import { START } from '../../events/events.ts'
import type { TurnFact } from '../../events/turn-events.ts'
import { maxAttempts } from './attempts.ts'
import type { OpenStep } from './open-step.ts'

/** What a worker records to take a step: a claim, or, where too many attempts have failed, that it is parked. */
export const claim = (
  { name: step, attempt, errors }: OpenStep,
  worker: string,
): TurnFact<'TurnClaimed' | 'TurnParked'> =>
  attempt > maxAttempts
    ? { type: 'TurnParked', data: { step, attempts: attempt - 1, errors, at: START } }
    : { type: 'TurnClaimed', data: { step, worker, attempt, at: START } }
