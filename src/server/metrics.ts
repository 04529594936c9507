// Metrics in the text format of Prometheus, version 0.0.4.

import type { StepState, Store } from '../index.ts'

/** An answered request, without its content. */
export interface ServedRequest {
  readonly method: string
  /** Path of the matching route with its parameters as placeholders; undefined if no route matches. */
  readonly route: string | undefined
  readonly path: string
  readonly status: number
  /** Time until the response began, in milliseconds. */
  readonly ms: number
  readonly by: string | undefined
}

/** Upper bounds of the duration buckets, in seconds. */
const ends = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Durations {
  readonly within: number[]
  sum: number
  count: number
}

/** Numbers of steps by state; `oldest` is the time at which the oldest open step was recorded: ISO 8601, UTC. */
export type StepGauges = Readonly<Record<StepState, number>> & { readonly oldest?: string }

/** Counts the steps of workers by state, with the time since which the oldest open step has waited. */
export const countSteps = async (store: Pick<Store, 'steps'>): Promise<StepGauges> => {
  const counts = { open: 0, claimed: 0, waiting: 0, parked: 0 }
  let oldest: string | undefined
  for await (const { state, since } of store.steps()) {
    counts[state]++
    if (state === 'open') oldest ??= since
  }
  return { ...counts, ...(oldest !== undefined && { oldest }) }
}

const stepLines = ({ oldest, ...counts }: StepGauges): readonly string[] => {
  const age = oldest === undefined ? 0 : (Date.now() - Date.parse(oldest)) / 1_000
  return [
    '# HELP palimpsest_steps Steps requested of workers.',
    '# TYPE palimpsest_steps gauge',
    ...Object.entries(counts).map(([state, count]) => `palimpsest_steps{${label({ state })}} ${count}`),
    '# HELP palimpsest_oldest_open_step_seconds Time that the oldest open step has waited.',
    '# TYPE palimpsest_oldest_open_step_seconds gauge',
    `palimpsest_oldest_open_step_seconds ${Math.max(0, age)}`,
  ]
}

const label = (fields: Readonly<Record<string, string>>): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',')

/** Makes counters of requests by route. Conversations are not counted separately. */
export const metrics = () => {
  /** Number of requests by route, then by method and status. */
  const requests = new Map<string, Map<string, number>>()
  const durations = new Map<string, Durations>()
  let streams = 0

  return {
    count: ({ method, route = 'none', status, ms }: ServedRequest): void => {
      const its = requests.get(route) ?? new Map<string, number>()
      requests.set(route, its)
      const one = `${method} ${status}`
      its.set(one, (its.get(one) ?? 0) + 1)
      const lasted = durations.get(route) ?? { within: ends.map(() => 0), sum: 0, count: 0 }
      durations.set(route, lasted)
      const seconds = ms / 1_000
      lasted.sum += seconds
      lasted.count++
      for (let index = ends.length - 1; seconds <= (ends[index] ?? -1); index--)
        lasted.within[index] = (lasted.within[index] ?? 0) + 1
    },
    /** Changes the number of open event streams by one. */
    streams: (change: 1 | -1): void => {
      streams += change
    },
    /** Formats the metrics. Without `steps`, the lines about steps are left out. */
    text: (warnings: number, steps?: StepGauges): string => {
      const { rss, heapUsed } = process.memoryUsage()
      const lines = [
        '# HELP palimpsest_requests_total Requests answered.',
        '# TYPE palimpsest_requests_total counter',
        ...[...requests].flatMap(([route, its]) =>
          [...its].map(([one, count]) => {
            const [method = '', status = ''] = one.split(' ')
            return `palimpsest_requests_total{${label({ method, route, status })}} ${count}`
          }),
        ),
        '# HELP palimpsest_request_seconds Time until the response began.',
        '# TYPE palimpsest_request_seconds histogram',
        ...[...durations].flatMap(([route, { within, sum, count }]) => [
          ...within.map(
            (n, index) =>
              `palimpsest_request_seconds_bucket{${label({ route, le: String(ends[index]) })}} ${n}`,
          ),
          `palimpsest_request_seconds_bucket{${label({ route, le: '+Inf' })}} ${count}`,
          `palimpsest_request_seconds_sum{${label({ route })}} ${sum}`,
          `palimpsest_request_seconds_count{${label({ route })}} ${count}`,
        ]),
        '# HELP palimpsest_event_streams Current readers of event streams.',
        '# TYPE palimpsest_event_streams gauge',
        `palimpsest_event_streams ${streams}`,
        '# HELP palimpsest_warnings Warnings of /readyz, such as that nothing is sealed.',
        '# TYPE palimpsest_warnings gauge',
        `palimpsest_warnings ${warnings}`,
        ...(steps ? stepLines(steps) : []),
        '# HELP process_resident_memory_bytes Resident memory.',
        '# TYPE process_resident_memory_bytes gauge',
        `process_resident_memory_bytes ${rss}`,
        '# HELP process_heap_bytes Heap in use.',
        '# TYPE process_heap_bytes gauge',
        `process_heap_bytes ${heapUsed}`,
      ]
      return `${lines.join('\n')}\n`
    },
  }
}
