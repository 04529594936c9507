import { abortedBy } from '../aborted.ts'
import { errorText } from '../error-text.ts'
import type { ModelError, ModelFailed, ModelStalled, Reply } from '../model.ts'

/** What a call had come to when it failed. */
export interface Broken {
  readonly partial?: Reply | undefined
  /** Of what came of the reply, where its stream has begun. */
  readonly usage?: Reply['origin']['usage']
}

/** What the SDK's errors say, whichever version of it throws them. */
interface SdkError {
  readonly message?: string
  /** The API's own words. */
  readonly apiMessage?: string | null
  readonly status?: number
  readonly type?: string | null
  readonly requestID?: string | null
  /** Those of the answer; the key is there in every error of the API or of the connection. */
  readonly headers?: Headers
}

/**
 * How the hosts of the API say that a request is too long: in words. Anthropic, Bedrock ("Input is too long for requested model.",
 * "too many total text bytes"), Vertex, and gateways before them. ("Too many tokens" is what Bedrock says of a rate.)
 */
const tooLong =
  /(prompt|input|request) (is )?too (long|large)|too many total text bytes|request_too_large|exceed(s|ed)? (the )?(model'?s )?(maximum )?(context (window|limit|length)|prompt length)|context (window|length|limit) (was )?exceed|context_length_exceeded|maximum (context|prompt) length/i
const tooManyBytes = 413
/** Statuses of a request that is wrong as it is; 422 is that of some gateways. */
const badRequest: ReadonlySet<number | undefined> = new Set([undefined, 400, 422])

/** What may be otherwise a moment later: the SDK's own choice. */
const isPassing = (status: number): boolean => [408, 409, 429].includes(status) || status >= 500
/** Errors that come as an event of a stream, and pass. */
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
    : 'mend what it names'
}

export const stalledAfter = (timeout: number, broken: Broken): ModelStalled => ({
  _tag: 'ModelStalled',
  message: `nothing came of the reply for ${timeout} ms: no reply was recorded; try again, or raise stallTimeout`,
  timeout,
  retryable: true,
  ...given(broken),
})

/** The caller's own part of a call threw: its listener, or what reads the stream. */
export const spoiltBy = (error: unknown, broken: Broken): ModelFailed => ({
  _tag: 'ModelFailed',
  message: `there was no complete answer of the model (${messageOf(error)}): no reply was recorded; mend what it names`,
  retryable: false,
  ...given(broken),
  cause: error,
})

/** @param error what the client threw; undefined where the stream ended before the reply did */
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
      ? `there was no complete answer of the model (${message})`
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

/** Whether asking again may help, and the milliseconds to wait before, where the API says so. */
const retryIn = (error: SdkError, { usage }: Broken): Pick<ModelFailed, 'retryable' | 'retryAfter'> => {
  const { status, type, headers } = error
  const should = headers?.get('x-should-retry')
  // Without a status: the connection, an event of the stream, or, where none had come, a client that is not set up.
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

/** `retry-after` is seconds or a date. */
const waitIn = (headers: Headers): number | undefined => {
  const precise = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (precise >= 0) return precise
  const after = headers.get('retry-after')
  if (after === null) return undefined
  const seconds = Number(after)
  const wait = Number.isNaN(seconds) ? Date.parse(after) - Date.now() : 1_000 * seconds
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
