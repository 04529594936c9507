import { context, metrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { atEnd } from './at-end.ts'

export interface Telemetry {
  /** The spans that have ended, in that order. */
  readonly spans: () => readonly ReadableSpan[]
  /** The values of a metric now: each with its attributes. */
  readonly values: (name: string) => Promise<readonly Value[]>
}
interface Value {
  readonly value: unknown
  readonly attributes: Readonly<Record<string, unknown>>
}

const registry = Symbol.for('opentelemetry.js.api.1')

/** Registers OpenTelemetry in this process until the test is over, as a program would, and keeps what it is told. */
export const registered = (): Telemetry => {
  const spans = new InMemorySpanExporter()
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 })
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  atEnd(async () => {
    trace.disable()
    context.disable()
    metrics.disable()
    await reader.shutdown()
    Reflect.deleteProperty(globalThis, registry)
  })
  return {
    spans: () => spans.getFinishedSpans(),
    values: async (name) => {
      await reader.forceFlush()
      const scopes = measured.getMetrics().at(-1)?.scopeMetrics ?? []
      const found = scopes
        .flatMap((scope) => scope.metrics)
        .filter(({ descriptor }) => descriptor.name === name)
      return found.flatMap(({ dataPoints }): readonly Value[] => dataPoints)
    },
  }
}
