import { pause } from '../../server/client/pause.ts'
import { messagesAfter } from '../../server/client/sse.ts'
import {
  type AccessRights,
  type FetchedBytes,
  toThrowable,
  type StreamHandlers,
  type SourceProblem,
  problemOf,
  type ApiSource,
  unreachable,
} from './source.ts'

export interface HttpOptions {
  /** Base URL of the API; default: `/api/v1` on the page's own server. */
  readonly base?: string | undefined
  /** Called when the server does not let the user read. The page then asks for a token. */
  readonly onUnauthorized?: ((why: AccessRefusal) => void) | undefined
}

/** Reason why the user may not read: no token was sent, the token is no longer valid, or it lacks the scope `read`. */
export type AccessRefusal = 'no-token' | 'no-longer' | 'may-not-read'

/**
 * Delays in milliseconds before a broken stream is requested again, by the number of consecutive failures. The last delay applies to
 * all further failures.
 */
const pauses = [500, 1_000, 2_000, 4_000, 8_000]
/**
 * Delay in milliseconds before a stream that ended with a problem counts as live again. Receiving its first messages does not prove
 * that the problem is gone.
 */
const probation = 1_000
/** Returns a source that sends requests to the server's API. */
export const httpSource = ({ base = '/api/v1', onUnauthorized }: HttpOptions = {}): ApiSource => {
  let access: AccessRights | undefined
  let mayRead = false
  /** Number of times that the user has signed in. */
  let signIns = 0
  const refusalIn = ({ status, scope }: SourceProblem): AccessRefusal | undefined => {
    if (status === 403 && scope === 'read') return 'may-not-read'
    if (status !== 401) return undefined
    return mayRead ? 'no-longer' : 'no-token'
  }
  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    const before = signIns
    const response = await fetch(base + path, { credentials: 'same-origin', ...init }).catch(
      (error: unknown) => {
        throw isAbort(error) ? error : toThrowable(unreachable)
      },
    )
    access = accessIn(response) ?? access
    if (response.ok) {
      if (init.method === undefined) mayRead = true
      if (path === '/session' && init.method === 'POST') signIns++
      return response
    }
    const problem = await problemIn(response)
    const why = refusalIn(problem)
    // A request that was sent with the token of before says nothing about the new one.
    if (why !== undefined && before === signIns) onUnauthorized?.(why)
    throw toThrowable(problem)
  }
  const json = async <T>(response: Promise<Response>): Promise<T> => (await (await response).json()) as T

  return {
    isLive: true,
    access: () => access,
    get: (path, { signal } = {}) => json(ask(path, withSignal(signal))),
    post: (path, body, { signal } = {}) => json(ask(path, posted(body, signal))),
    file: async (path, body) => {
      const response = await ask(path, posted(body))
      const [, name = 'export'] =
        /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? []
      return { blob: await response.blob(), name, header: (header) => response.headers.get(header) }
    },
    bytes: async (path, { from, to, signal } = {}) => {
      const range = from === undefined ? undefined : { range: `bytes=${from}-${to ?? ''}` }
      const response = await ask(path, { ...(range && { headers: range }), ...withSignal(signal) })
      return bytesOf(response, await response.blob())
    },
    follow: (path, after, following) => follow(ask, path, after, following),
  }
}

/** Parses the `palimpsest-access` header, which the server sends with every JSON response: `read write`, or `read write; read-only`. */
const accessIn = ({ headers }: Response): AccessRights | undefined => {
  const [scopes, mode] = headers.get('palimpsest-access')?.split('; ') ?? []
  return scopes === undefined ? undefined : { scopes: scopes.split(' '), isReadOnly: mode === 'read-only' }
}

type Ask = (path: string, init: RequestInit) => Promise<Response>

const follow = (ask: Ask, path: string, after: string | number | undefined, following: StreamHandlers) => {
  const { told, connection } = following
  const ending = new AbortController()
  let failures = 0
  let since: number | undefined
  let why: SourceProblem | undefined
  let trust: ReturnType<typeof setTimeout> | undefined
  const live = (): void => {
    failures = 0
    since = undefined
    why = undefined
    connection?.({ state: 'live' })
  }
  const open = async (lastId: string | undefined, signal: AbortSignal): Promise<Response> => {
    const query =
      lastId === undefined ? '' : `${path.includes('?') ? '&' : '?'}after=${encodeURIComponent(lastId)}`
    const response = await ask(path + query, { headers: { accept: 'text/event-stream' }, signal })
    if (why) trust = setTimeout(live, probation)
    else live()
    return response
  }
  const again = (error: unknown): Promise<void> => {
    clearTimeout(trust)
    const problem = error === undefined ? undefined : problemOf(error)
    why = problem?.tag === undefined ? undefined : problem
    since ??= Date.now()
    const ms = pauses[Math.min(failures, pauses.length - 1)] ?? 0
    failures += 1
    connection?.(
      why || failures > 2
        ? { state: 'offline', since, why }
        : { state: 'reconnecting', next: Date.now() + ms },
    )
    return pause(ms, ending.signal)
  }
  const run = async (): Promise<void> => {
    connection?.({ state: 'connecting' })
    const errorOf = (problem: unknown): Error => toThrowable(problem as SourceProblem)
    const stream = messagesAfter(
      { open, errorOf, again, signal: ending.signal },
      after === undefined ? undefined : String(after),
    )
    for await (const message of stream) if (message.data !== undefined) told(message)
  }
  void run()
  return () => {
    clearTimeout(trust)
    ending.abort()
  }
}

const posted = (body: unknown, signal?: AbortSignal): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
  ...withSignal(signal),
})
const withSignal = (signal: AbortSignal | undefined) => (signal ? { signal } : {})
const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError'

const problemIn = async (response: Response): Promise<SourceProblem> => {
  const { status, statusText } = response
  try {
    return (await response.json()) as SourceProblem
  } catch {
    return {
      title: statusText || `status ${status}`,
      detail: 'The response did not come from this API.',
      status,
    }
  }
}

const bytesOf = (response: Response, blob: Blob): FetchedBytes => {
  const total = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1]
  const type = response.headers.get('content-type') ?? 'application/octet-stream'
  return { blob, type, total: total === undefined ? blob.size : Number(total) }
}
