import { setTimeout as sleep } from 'node:timers/promises'
import type * as OpenTelemetry from '@opentelemetry/api'

// The program's own OpenTelemetry, if it has registered one: an optional peer dependency, which is loaded once something is registered.

export type TelemetryApi = Pick<
  typeof OpenTelemetry,
  'context' | 'createContextKey' | 'metrics' | 'SpanKind' | 'SpanStatusCode' | 'trace'
>

/** What may be said of a span or a measurement. Undefined values are left out. */
export type Attributes = { readonly [name: string]: string | number | readonly string[] | undefined }

/** What the API registers providers under, in each of its versions with this major number. */
const registry = Symbol.for('opentelemetry.js.api.1')
export const scope = 'palimpsest'

let loaded: Promise<TelemetryApi | undefined> | undefined

const load = async (): Promise<TelemetryApi | undefined> => {
  try {
    return await import('@opentelemetry/api')
  } catch {
    process.emitWarning(
      'OpenTelemetry is registered, but palimpsest cannot load its API: npm install @opentelemetry/api',
    )
    return undefined
  }
}

/** Undefined at once if the program has registered nothing: then nothing is loaded, measured or kept. */
export const openTelemetry = (): Promise<TelemetryApi | undefined> | undefined =>
  registry in globalThis ? (loaded ??= load()) : undefined

/** Work is done whatever becomes of what is said about it: a processor or an exporter of the program's may throw. */
export const quietly = <A>(say: () => A): A | undefined => {
  try {
    return say()
  } catch {
    return undefined
  }
}

/** Without those that are undefined. */
export const defined = (attributes: Attributes): Record<string, string | number | string[]> => {
  const all: Record<string, string | number | string[]> = {}
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) all[name] = typeof value === 'object' ? [...value] : value
  return all
}

/** Whether content may be in spans, by the variable that instrumentations of GenAI share. */
export const showsContent = (): boolean =>
  /^(true|span_only|span_and_event)$/i.test(
    process.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'] ?? '',
  )

interface Flushable {
  readonly forceFlush?: () => Promise<void>
  /** The API hands out a stand-in for the tracer provider. */
  readonly getDelegate?: () => Flushable
}

const longest = 5_000

/** Has what was measured exported, for a process that is about to end. Resolves after 5 seconds at the latest. */
export const flush = async (): Promise<void> => {
  const api = await openTelemetry()
  if (!api) return
  const providers: readonly object[] = [api.trace.getTracerProvider(), api.metrics.getMeterProvider()]
  const flushed = providers.map(async (provider: Flushable) =>
    (provider.getDelegate?.() ?? provider).forceFlush?.(),
  )
  await Promise.race([Promise.allSettled(flushed), sleep(longest, undefined, { ref: false })])
}
