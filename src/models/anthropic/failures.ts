import { abortedBy } from '../aborted.ts'
import { errorText } from '../error-text.ts'
import type { ModelError, ModelFailed, ModelStalled, Reply } from '../model.ts'

/** What had arrived of a reply when its call failed. */
export interface Broken {
  readonly partial?: Reply | undefined
  /** Of what arrived, if the stream had begun. */
  readonly usage?: Reply['origin']['usage']
}

/** What the errors of every version of the SDK say. */
interface SdkError {
  readonly message?: string
  /** The API's own words. */
  readonly apiMessage?: string | null
  readonly status?: number
  readonly type?: string | null
  readonly requestID?: string | null
  /** Those of the answer; every error of the API or of the connection has the key. */
  readonly headers?: Headers
}

/**
 * How the hosts of the API say that a request is too long: in words. Anthropic, Bedrock ("Input is too long for requested model.",
 * "too many total text bytes"), Vertex, and gateways. (Bedrock's "Too many tokens" is about a rate.)
 */
const tooLong =
  /(prompt|input|request) (is )?too (long|large)|too many total text bytes|request_too_large|exceed(s|ed)? (the )?(model'?s )?(maximum )?(context (window|limit|length)|prompt length)|context (window|length|limit) (was )?exceed|context_length_exceeded|maximum (context|prompt) length/i
const tooManyBytes = 413
/** Statuses of an invalid request; some gateways use 422. */
const badRequest: ReadonlySet<number | undefined> = new Set([undefined, 400, 422])

/** Statuses worth a retry: the SDK's own choice. */
const isPassing = (status: number): boolean => [408, 409, 429].includes(status) || status >= 500
/** Errors in a stream that are worth a retry. */
const passing: ReadonlySet<unknown> = new Set([
  'overloaded_error',
  'api_error',
  'rate_limit_error',
  'timeout_error',
])

const adviceOn = (status: number | undefined): string => {
  if (status === 401 || status === 403) return 'check the API key (ANTHROPIC_API_KEY) and its rights'
  if (status === 404) return 'check the name of the model'
  if (status === 429 || (status !== undefined && status >= 500)) return 'try again later'
  return status === undefined
    ? 'check the key, the address and the connection, or try again'
    : 'fix what it names'
}

export const stalledAfter = (timeout: number, broken: Broken): ModelStalled => ({
  _tag: 'ModelStalled',
  message: `nothing of the reply arrived for ${timeout} ms: no reply was recorded; try again, or raise stallTimeout`,
  timeout,
  retryable: true,
  ...given(broken),
})

/** The call ended because the caller's listener threw, or the stream could not be read. */
export const spoiltBy = (error: unknown, broken: Broken): ModelFailed => ({
  _tag: 'ModelFailed',
  message: `the model gave no complete answer (${messageOf(error)}): no reply was recorded; fix what it names`,
  retryable: false,
  ...given(broken),
  cause: error,
})

/** @param error what the client threw; undefined if the stream ended before the reply did */
export const failureOf = (
  error: unknown,
  signal: AbortSignal | undefined,
  broken: Broken = {},
): ModelError => {
  if (signal?.aborted) return { ...abortedBy(signal), ...given(broken) }
  const { status, type, requestID } = (error ?? {}) as SdkError
  const message = error === undefined ? 'it broke off' : messageOf(error)
  const isTooLong = status === tooManyBytes || (badRequest.has(status) && tooLong.test(`${type} ${message}`))
  const problem =
    status === undefined
      ? `the model gave no complete answer (${message})`
      : `the API refused the request (${[status, type].filter(Boolean).join(' ')}: ${message})`
  const facts = {
    message: `${problem}: no reply was recorded; ${isTooLong ? 'make the context smaller' : adviceOn(status)}`,
    ...(status !== undefined && { status }),
    ...(typeof type === 'string' && { type }),
    ...(typeof requestID === 'string' && { requestId: requestID }),
    ...given(broken),
    cause: error,
  }
  return isTooLong
    ? { _tag: 'ContextExceeded', ...facts }
    : { _tag: 'ModelFailed', ...facts, ...retryIn(error ?? {}, broken) }
}

const messageOf = (error: unknown): string => {
  try {
    const { apiMessage, message } = (error ?? {}) as SdkError
    return String(apiMessage ?? message ?? error)
  } catch {
    return errorText(error)
  }
}

const given = ({ partial, usage }: Broken): Broken => ({
  ...(partial && { partial }),
  ...(usage && { usage }),
})

/** Whether a retry may help, and the milliseconds to wait before it, if the API says so. */
const retryIn = (error: SdkError, { usage }: Broken): Pick<ModelFailed, 'retryable' | 'retryAfter'> => {
  const { status, type, headers } = error
  const should = headers?.get('x-should-retry')
  // Without a status: the connection, an event of the stream, or, if no event had come, a client that is not set up.
  const passes =
    status !== undefined
      ? isPassing(status)
      : type
        ? passing.has(type)
        : 'headers' in error || usage !== undefined
  const retryAfter = headers ? waitIn(headers) : undefined
  return {
    retryable: should === 'true' || (passes && should !== 'false'),
    ...(retryAfter !== undefined && { retryAfter }),
  }
}

/** Milliseconds; `retry-after` is in seconds or a date. */
const waitIn = (headers: Headers): number | undefined => {
  const precise = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (precise >= 0) return precise
  const after = headers.get('retry-after')
  if (after === null) return undefined
  const seconds = Number(after)
  const wait = Number.isNaN(seconds) ? Date.parse(after) - Date.now() : 1_000 * seconds
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
