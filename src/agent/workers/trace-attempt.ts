import { count, registerGauges } from '../telemetry/metrics.ts'
import { inSpan } from '../telemetry/spans.ts'
import type { WorkBoard } from './work-board.ts'
import { type StepState, stateOf } from './list-steps.ts'
import type { OpenStep } from './open-step.ts'

/** Makes an attempt at a step in the root span of a new trace. The spans of the attempt's turns are inside it. */
export const traceAttempt = <A extends { readonly reason: string; readonly error?: string }>(
  worker: string,
  conversation: string,
  { name, attempt, asking: { tenant, priority } }: OpenStep,
  make: () => Promise<A>,
): Promise<A> =>
  inSpan(
    'palimpsest.attempt',
    () => ({
      isRoot: true,
      attributes: {
        'palimpsest.worker': worker,
        'palimpsest.step': name,
        'palimpsest.attempt': attempt,
        'palimpsest.tenant': tenant,
        'palimpsest.priority': priority,
      },
      inherited: { 'gen_ai.conversation.id': conversation },
    }),
    async (span) => {
      const made = await make()
      span?.set({ 'palimpsest.outcome': made.reason })
      // Only the error's tag, because the rest may quote content of the conversation.
      if (made.reason === 'failed' || made.reason === 'parked')
        span?.failed(made.error?.split(':')[0] ?? made.reason)
      return made
    },
  )

export const countClaim = (how: 'won' | 'refused'): void => count(`palimpsest.claims.${how}`)

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
