import { setTimeout as sleep } from 'node:timers/promises'
import type * as OpenTelemetry from '@opentelemetry/api'

// The program's own OpenTelemetry, if it has registered one: an optional peer dependency, which is loaded once something is registered.

export type TelemetryApi = Pick<
  typeof OpenTelemetry,
  'context' | 'createContextKey' | 'metrics' | 'SpanKind' | 'SpanStatusCode' | 'trace'
>

/** Attributes of a span or a measurement. Undefined values are omitted. */
export type Attributes = { readonly [name: string]: string | number | readonly string[] | undefined }

/** Global symbol under which all 1.x versions of the OpenTelemetry API register their providers. */
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

/**
 * Loads the OpenTelemetry API. If the program has not registered OpenTelemetry, returns undefined synchronously; nothing is then
 * loaded, measured or stored.
 */
export const openTelemetry = (): Promise<TelemetryApi | undefined> | undefined =>
  registry in globalThis ? (loaded ??= load()) : undefined

/**
 * Runs `say` and returns its result; undefined if it throws. Errors in the program's span processor or exporter must not affect the
 * work.
 */
export const quietly = <A>(say: () => A): A | undefined => {
  try {
    return say()
  } catch {
    return undefined
  }
}

/** Returns the attributes without undefined values. */
export const withoutUndefined = (attributes: Attributes): Record<string, string | number | string[]> => {
  const all: Record<string, string | number | string[]> = {}
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) all[name] = typeof value === 'object' ? [...value] : value
  return all
}

/** Reports whether spans may include message content, according to the environment variable that GenAI instrumentations share. */
export const showsContent = (): boolean =>
  /^(true|span_only|span_and_event)$/i.test(
    process.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'] ?? '',
  )

interface Flushable {
  readonly forceFlush?: () => Promise<void>
  /** Returns the actual tracer provider; the API hands out a proxy. */
  readonly getDelegate?: () => Flushable
}

const longest = 5_000

/** Exports pending telemetry before the process exits. Resolves after 5 seconds at the latest. */
export const flush = async (): Promise<void> => {
  const api = await openTelemetry()
  if (!api) return
  const providers: readonly object[] = [api.trace.getTracerProvider(), api.metrics.getMeterProvider()]
  const flushed = providers.map(async (provider: Flushable) =>
    (provider.getDelegate?.() ?? provider).forceFlush?.(),
  )
  await Promise.race([Promise.allSettled(flushed), sleep(longest, undefined, { ref: false })])
}
