import type { Span } from '@opentelemetry/api'
import { errorName } from './error-name.ts'
import {
  type TelemetryApi,
  type Attributes,
  withoutUndefined,
  openTelemetry,
  quietly,
  scope,
} from './open-telemetry.ts'

export interface SpanHandle {
  readonly set: (attributes: Attributes) => void
  /**
   * Marks the span as failed.
   *
   * @param type class of the error, without its message or other content
   */
  readonly failed: (type: string) => void
}

export interface SpanOptions {
  readonly attributes: Attributes
  /** Attributes inherited by all spans created within this one. */
  readonly inherited?: Attributes
  /** Span kind: `client` if the work is a request to another program. Default `internal`. */
  readonly kind?: 'internal' | 'client'
  /** True to start a new trace instead of a child span. */
  readonly isRoot?: boolean
}

const toldOf = (span: Span, { SpanStatusCode }: TelemetryApi): SpanHandle => ({
  set: (attributes) => void quietly(() => span.setAttributes(withoutUndefined(attributes))),
  failed: (type) =>
    void quietly(() => span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })),
})

/**
 * Runs `work` in a child of the active span. Spans created during the work become children of the new span.
 *
 * @param options evaluated only if a span is created
 */
export const inSpan = <A>(
  name: string,
  options: () => SpanOptions,
  work: (span?: SpanHandle) => Promise<A>,
): Promise<A> =>
  openTelemetry()?.then((api) => (api ? spanned(api, name, options(), work) : work())) ?? work()

let inheritedKey: symbol | undefined

const spanned = async <A>(
  api: TelemetryApi,
  name: string,
  { attributes, inherited = {}, kind, isRoot: root = false }: SpanOptions,
  work: (span?: SpanHandle) => Promise<A>,
): Promise<A> => {
  inheritedKey ??= api.createContextKey(scope)
  const outside = api.context.active()
  const passedOn = {
    ...(root ? {} : (outside.getValue(inheritedKey) as Attributes | undefined)),
    ...inherited,
  }
  const spanKind = kind === 'client' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL
  const said = withoutUndefined({ ...passedOn, ...attributes })
  const span = quietly(() =>
    api.trace.getTracer(scope).startSpan(name, { kind: spanKind, attributes: said, root }, outside),
  )
  if (!span) return work()
  const inside = api.trace.setSpan(outside, span).setValue(inheritedKey, passedOn)
  const told = toldOf(span, api)
  try {
    return await api.context.with(inside, () => work(told))
  } catch (error) {
    told.failed(errorName(error))
    throw error
  } finally {
    quietly(() => span.end())
  }
}
