import type { Meter } from '@opentelemetry/api'
import { type Attributes, withoutUndefined, openTelemetry, quietly, scope } from './open-telemetry.ts'

/** Calls `measure` with the program's meter, if there is one. */
const measured = (measure: (meter: Meter) => void): void => {
  void openTelemetry()?.then((api) => api && quietly(() => measure(api.metrics.getMeter(scope))))
}

/** Counters, by name, with their descriptions. */
const counters = {
  'palimpsest.claims.won': 'steps that a worker has claimed',
  'palimpsest.claims.refused': 'claims that came too late: another worker has the step',
  'palimpsest.replies.stale':
    'replies that were refused, since what they were made from had been rewound or answered',
  'palimpsest.calls.aborted': 'calls of a model that were ended before their reply was whole',
  'palimpsest.audit.problems': 'problems that a patrol has found, in each of its rounds again',
  'palimpsest.tokens.wasted':
    'tokens of calls without a reply, and of replies that were refused, as the API has counted them',
} as const

export const count = (name: keyof typeof counters, by = 1, attributes: Attributes = {}): void => {
  if (by > 0)
    measured((meter) =>
      meter.createCounter(name, { description: counters[name] }).add(by, withoutUndefined(attributes)),
    )
}

const durations = { unit: 's', description: 'how long a call of a model takes' }
const tokens = { unit: '{token}', description: 'tokens of a call of a model' }

/**
 * Records the metrics of the GenAI conventions.
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

/** Registers gauges that read a worker's counts on every collection, until the returned function is called. */
export const registerGauges = (attributes: Attributes, read: () => StepCounts): (() => void) => {
  let end = (): void => {}
  let isOver = false
  measured((meter) => {
    if (isOver) return
    const steps = meter.createObservableGauge('palimpsest.steps', {
      unit: '{step}',
      description: 'steps of each state',
    })
    const oldest = meter.createObservableGauge('palimpsest.oldest_open_step.age', {
      unit: 's',
      description: 'how long the oldest open step has waited',
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
