import { modelAborted } from '../abort.ts'
import { errorText } from '../error-text.ts'
import type { ModelError, ModelFailed, ModelStalled, Reply } from '../model.ts'

/** The part of a reply that had arrived when its call failed. */
export interface PartialReply {
  readonly partial?: Reply | undefined
  /** Usage of the part that arrived, if the stream had begun. */
  readonly usage?: Reply['origin']['usage']
}

/** Fields by which an API's error is classified. */
export interface ApiErrorDetails {
  readonly status: number | undefined
  readonly type: string | null | undefined
  readonly code: unknown
  readonly message: string
}

/** Rules for interpreting the errors of an API. */
export interface Dialect {
  /** Name of the environment variable that holds the API key. */
  readonly key: string
  /** Reports whether an error means that the request does not fit into the context window. Status 413 has this meaning in every dialect. */
  readonly isTooLong: (told: ApiErrorDetails) => boolean
  /** Reports whether the cause of the error may be transient; undefined if the error does not say. */
  readonly isPassing: (told: ApiErrorDetails) => boolean | undefined
}

/** Fields common to the errors of all SDK versions. */
interface SdkError {
  readonly message?: string
  readonly apiMessage?: string | null
  readonly status?: number
  readonly type?: string | null
  readonly code?: unknown
  readonly requestID?: string | null
  /** Headers of the response. Every error of the API or of the connection has this key. */
  readonly headers?: Headers
}

const tooManyBytes = 413

/** Reports whether a call that failed with this HTTP status is worth retrying. The SDKs retry after the same statuses. */
export const isPassingStatus = (status: number): boolean => [408, 409, 429].includes(status) || status >= 500

/** Phrases with which the SDKs say, before they send anything, that they have no key. */
export const aboutKey = /resolve authentication method|missing credentials|_API_KEY/i

const adviceOn = ({ status, message }: ApiErrorDetails, { key }: Dialect): string => {
  if (status === 401 || status === 403) return `check the API key (${key}) and its permissions`
  if (status === 404) return 'check the model name'
  if (status === 429 || (status !== undefined && status >= 500)) return 'try again later'
  if (status === undefined && aboutKey.test(message)) return `check the API key (${key})`
  return status === undefined
    ? 'check the key, the address and the connection, or try again'
    : 'fix the problem that it reports'
}

export const modelStalled = (timeout: number, broken: PartialReply): ModelStalled => ({
  _tag: 'ModelStalled',
  message: `no part of a reply arrived for ${timeout} ms: no reply was recorded; try again, or raise stallTimeout`,
  timeout,
  retryable: true,
  ...given(broken),
})

/** Returns the error for a call that ended because the caller's listener threw or the stream could not be read. */
export const spoiltBy = (error: unknown, broken: PartialReply): ModelFailed => ({
  _tag: 'ModelFailed',
  message: `the model's answer was incomplete (${messageOf(error)}): no reply was recorded; fix the cause`,
  retryable: false,
  ...given(broken),
  cause: error,
})

/**
 * Converts an error of the client into the error of a model call.
 *
 * @param error the value that the client threw; undefined if the stream ended before the reply was complete
 */
export const failureOf = (
  error: unknown,
  signal: AbortSignal | undefined,
  dialect: Dialect,
  broken: PartialReply = {},
): ModelError => {
  if (signal?.aborted) return { ...modelAborted(signal), ...given(broken) }
  const { status, type, code, requestID } = (error ?? {}) as SdkError
  // Some SDKs put the status at the beginning of the message.
  const message =
    error === undefined ? 'it broke off' : messageOf(error).replace(new RegExp(`^${status} `), '')
  const told: ApiErrorDetails = { status, type, code, message }
  const isTooLong = status === tooManyBytes || dialect.isTooLong(told)
  // Without a single event, the request may never have been sent, for example because the client has no key.
  const hasBegun = error === undefined || broken.partial !== undefined || broken.usage !== undefined
  const problem =
    status === undefined
      ? hasBegun
        ? `the model's answer was incomplete (${message})`
        : `the model did not answer (${message})`
      : `the API refused the request (${[status, type].filter(Boolean).join(' ')}: ${message})`
  const facts = {
    message: `${problem}: no reply was recorded; ${isTooLong ? 'make the context smaller' : adviceOn(told, dialect)}`,
    ...(status !== undefined && { status }),
    ...(typeof type === 'string' && { type }),
    ...(typeof requestID === 'string' && { requestId: requestID }),
    ...given(broken),
    cause: error,
  }
  return isTooLong
    ? { _tag: 'ContextExceeded', ...facts }
    : { _tag: 'ModelFailed', ...facts, ...retryIn(error ?? {}, broken, dialect.isPassing(told)) }
}

const messageOf = (error: unknown): string => {
  try {
    const { apiMessage, message } = (error ?? {}) as SdkError
    return String(apiMessage ?? message ?? error)
  } catch {
    return errorText(error)
  }
}

const given = ({ partial, usage }: PartialReply): PartialReply => ({
  ...(partial && { partial }),
  // Some APIs report usage only at the end.
  ...(usage && Object.keys(usage).length > 0 && { usage }),
})

/** Determines whether a retry may help, and the milliseconds to wait before the retry, if the API gives them. */
const retryIn = (
  error: SdkError,
  { usage }: PartialReply,
  isPassing: boolean | undefined,
): Pick<ModelFailed, 'retryable' | 'retryAfter'> => {
  const { headers } = error
  const should = headers?.get('x-should-retry')
  // If the dialect cannot tell, a connection error is worth a retry. An error without `headers`, before any event, comes from a client
  // that is not configured.
  const passes = isPassing ?? ('headers' in error || usage !== undefined)
  const retryAfter = headers ? waitIn(headers) : undefined
  return {
    retryable: should === 'true' || (passes && should !== 'false'),
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

/** Reads the milliseconds to wait before a retry from the headers. The `retry-after` header is in seconds or a date. */
const waitIn = (headers: Headers): number | undefined => {
  const precise = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (precise >= 0) return precise
  const after = headers.get('retry-after')
  if (after === null) return undefined
  const seconds = Number(after)
  const wait = Number.isNaN(seconds) ? Date.parse(after) - Date.now() : 1_000 * seconds
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
