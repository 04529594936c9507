import type { BodyOf, ParamsOf, PathOf, QueryOf } from './api.ts'
import { type ApiPath, apiPathOf } from './api-path.ts'
import { pause } from './pause.ts'
import { errorOf, unavailable, unsendable } from './errors.ts'

/** Options for connecting to a server. */
export interface ClientOptions {
  /** Token printed by `palimpsest serve token create`. Without a token, a browser sends its session cookie. */
  readonly token?: string | undefined
  /** Replacement for the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
  /** Maximum number of times that a read, or a command with an id, is retried if the connection breaks or the store is busy. Default 5. */
  readonly retries?: number | undefined
}

export interface SseRequest {
  readonly method: 'GET' | 'POST'
  readonly path: ApiPath
  readonly body?: string | undefined
  readonly lastId: string | undefined
  readonly signal: AbortSignal | undefined
}

/** Connection to a server. Responses are the library's results, as JSON. Methods reject with typed errors. */
export interface Transport {
  readonly url: string
  readonly retries: number
  readonly get: <A, T extends PathOf<'get'> = PathOf<'get'>>(
    path: T,
    params?: ParamsOf<T>,
    query?: QueryOf<T>,
    signal?: AbortSignal,
  ) => Promise<A>
  /** Sends a command and returns the server's response. */
  readonly post: <A, T extends PathOf<'post'> = PathOf<'post'>>(
    path: T,
    params: ParamsOf<T>,
    body: BodyOf<T>,
    query?: QueryOf<T>,
  ) => Promise<A>
  /** Requests a stream, without retries. */
  readonly open: (asking: SseRequest) => Promise<Response>
}

/** Makes a command id. `crypto.randomUUID` is unavailable in a page that was loaded without TLS from another machine. */
const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )
/** Adds a command id if the command has none, so that the command can be sent again. */
export const withId = <O extends object>(given: O & { readonly commandId?: string | undefined }) => ({
  ...given,
  commandId: given.commandId ?? newId(),
})

const firstWait = 100
const longestWait = 5_000
/** Tags of transient errors, after which a retry may succeed. */
const passing: ReadonlySet<unknown> = new Set(['StoreBusy', 'StoreUnavailable', 'OutcomeUnknown', 'Ending'])
export const isPassing = (error: unknown): boolean =>
  error instanceof Error && '_tag' in error && passing.has(error._tag)

/** Waits before a retry: 100 ms, doubled with each retry, at most 5,000 ms. */
export const wait = (tries: number, signal?: AbortSignal): Promise<void> =>
  pause(Math.min(firstWait * 2 ** tries, longestWait), signal)

export const transport = (given: string, options: ClientOptions): Transport => {
  const url = given.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
  const { token, retries = 5, fetch: ask = fetch } = options
  const own = { ...(token !== undefined && { authorization: `Bearer ${token}` }) }

  const once = async (path: string, init: RequestInit): Promise<Response> => {
    let answer: Response
    try {
      answer = await ask(`${url}/api/v1${path}`, init)
    } catch (error) {
      if (init.signal?.aborted) throw error
      throw unavailable(url, `${url} cannot be reached: start palimpsest serve, or check the URL`, error)
    }
    if (answer.ok) return answer
    throw errorOf(await answer.json().catch(() => undefined), url, answer.status)
  }

  const json = async <A>(path: string, init: RequestInit, isRepeatable = true): Promise<A> => {
    for (let tries = isRepeatable ? 0 : retries; ; tries++) {
      try {
        const answer = await once(path, init)
        try {
          return (await answer.json()) as A
        } catch (error) {
          throw unavailable(url, `the response from ${url} was interrupted`, error)
        }
      } catch (error) {
        if (!isPassing(error) || tries >= retries || init.signal?.aborted) throw error
        await wait(tries, init.signal ?? undefined)
      }
    }
  }

  const writes = { ...own, 'content-type': 'application/json' }
  return {
    url,
    retries,
    get: async (path, params, query, signal) =>
      json(apiPathOf(path, params, query), { headers: own, ...(signal && { signal }) }),
    post: async (path, params, body, query) => {
      const headers = { ...writes, ...unlessFenced(body) }
      const init = { method: 'POST', headers, body: textOf(body) }
      return json(apiPathOf(path, params, query), init, 'commandId' in body)
    },
    open: ({ method, path, body, lastId, signal }) =>
      once(path, {
        method,
        headers: {
          ...(body === undefined ? own : writes),
          accept: 'text/event-stream',
          ...(lastId !== undefined && { 'last-event-id': lastId }),
        },
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      }),
  }
}

/** Serializes a request body. Throws `InvalidInput` for values that JSON cannot hold or that are nested thousands of levels deep. */
export const textOf = (body: unknown): string => sendable(() => JSON.stringify(body))

/** Runs a serialization and converts its errors to `InvalidInput`. */
export const sendable = <A>(make: () => A): A => {
  try {
    return make()
  } catch (error) {
    throw unsendable(error)
  }
}

/**
 * Returns the header `If-Match: *` for a command without `after`. As in the library, such a command applies to any state, but the
 * server requires the header as an explicit statement of that.
 */
const unlessFenced = (body: unknown): Readonly<Record<string, string>> =>
  typeof body === 'object' && body !== null && 'after' in body && body.after !== undefined
    ? {}
    : { 'if-match': '*' }
