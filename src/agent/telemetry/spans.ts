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

/** Handle of an active span. */
export interface SpanHandle {
  readonly set: (attributes: Attributes) => void
  /** @param type class of the error; no content */
  readonly failed: (type: string) => void
}

export interface SpanOptions {
  readonly attributes: Attributes
  /** Attributes that the spans inside inherit. */
  readonly inherited?: Attributes
  /** `client`: the work is a request to another program. Default `internal`. */
  readonly kind?: 'internal' | 'client'
  /** Start a new trace instead of a child span. */
  readonly isRoot?: boolean
}

const toldOf = (span: Span, { SpanStatusCode }: TelemetryApi): SpanHandle => ({
  set: (attributes) => void quietly(() => span.setAttributes(withoutUndefined(attributes))),
  failed: (type) =>
    void quietly(() => span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR })),
})

/**
 * Runs work in a span inside the active one; spans created meanwhile are inside it.
 *
 * @param options evaluated only if there will be a span
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
