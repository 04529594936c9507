import type { Meter } from '@opentelemetry/api'
import { type Attributes, withoutUndefined, openTelemetry, quietly, scope } from './open-telemetry.ts'

/** Passes the program's OpenTelemetry meter to `measure`. Does nothing if the program has not registered OpenTelemetry. */
const measured = (measure: (meter: Meter) => void): void => {
  void openTelemetry()?.then((api) => api && quietly(() => measure(api.metrics.getMeter(scope))))
}

/** Descriptions of the counters, by counter name. */
const counters = {
  'palimpsest.claims.won': 'Steps claimed by workers',
  'palimpsest.claims.refused': 'Claims that came too late because another worker has the step',
  'palimpsest.replies.stale': 'Replies refused because their context had been rewound or answered',
  'palimpsest.calls.aborted': 'Model calls that ended before their reply was complete',
  'palimpsest.audit.problems': 'Problems found by a patrol, counted again in each round',
  'palimpsest.tokens.wasted': 'Tokens of calls without a reply and of refused replies, as counted by the API',
} as const

export const count = (name: keyof typeof counters, by = 1, attributes: Attributes = {}): void => {
  if (by > 0)
    measured((meter) =>
      meter.createCounter(name, { description: counters[name] }).add(by, withoutUndefined(attributes)),
    )
}

const durations = { unit: 's', description: 'Duration of a model call' }
const tokens = { unit: '{token}', description: 'Tokens of a model call' }

/**
 * Records the duration and the token usage of a model call as metrics of the GenAI semantic conventions.
 *
 * @param ms duration in milliseconds
 */
export const measureCall = (
  ms: number,
  used: { readonly input: number; readonly output: number },
  attributes: Attributes,
): void =>
  measured((meter) => {
    const said = withoutUndefined(attributes)
    meter.createHistogram('gen_ai.client.operation.duration', durations).record(ms / 1_000, said)
    const usage = meter.createHistogram('gen_ai.client.token.usage', tokens)
    for (const type of ['input', 'output'] as const)
      if (used[type] > 0) usage.record(used[type], { ...said, 'gen_ai.token.type': type })
  })

/** Number of steps in each state, and the age of the oldest open step in seconds. */
export interface StepCounts {
  readonly counts: Readonly<Record<string, number>>
  readonly oldestOpen: number
}

/** Registers gauges that call `read` at every collection. The returned function removes them. */
export const registerGauges = (attributes: Attributes, read: () => StepCounts): (() => void) => {
  let end = (): void => {}
  let isOver = false
  measured((meter) => {
    if (isOver) return
    const steps = meter.createObservableGauge('palimpsest.steps', {
      unit: '{step}',
      description: 'Number of steps in each state',
    })
    const oldest = meter.createObservableGauge('palimpsest.oldest_open_step.age', {
      unit: 's',
      description: 'Time that the oldest open step has waited',
    })
    const gauges = [steps, oldest]
    const said = withoutUndefined(attributes)
    const observe: Parameters<Meter['addBatchObservableCallback']>[0] = (result) => {
      const { counts, oldestOpen } = read()
      for (const [state, number] of Object.entries(counts))
        result.observe(steps, number, { ...said, 'palimpsest.step.state': state })
      result.observe(oldest, oldestOpen, said)
    }
    meter.addBatchObservableCallback(observe, gauges)
    end = () => meter.removeBatchObservableCallback(observe, gauges)
  })
  return () => {
    isOver = true
    end()
  }
}
