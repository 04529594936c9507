import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { AnswerOf, PathOf } from '../server/client/api.ts'
import type { ApiPath } from '../server/client/api-path.ts'
import { type ConnectionState, problemOf, type ApiSource, unreachable } from './source/source.ts'
import { here } from './router.ts'
import { conversationIn, hrefs } from './url.ts'
import { number } from './words.ts'

/** Shows a progress bar at the top of the page while a request takes longer than 150 ms. */
export const Bar = ({ isBusy }: { readonly isBusy: boolean }) => (
  <div class="bar" hidden={!isBusy} role="presentation" />
)

/** Shows placeholder rows during the first load. */
export const Skeleton = ({ rows = 6 }: { readonly rows?: number }) => (
  <div class="skeleton" role="status" aria-label="Loading">
    {Array.from({ length: rows }, (_, index) => (
      <div key={index} class={`skeleton-row s${index % 3}`} />
    ))}
  </div>
)

export const Empty = ({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) => (
  <section class="empty">
    <h2>{title}</h2>
    {children}
  </section>
)

/** Delay before a request to an unreachable server is repeated, in milliseconds. */
const pause = 4_000

/**
 * Shows a problem in place of the content that failed to load, with a button to try again and links to pages that can be shown. If the server was unreachable, the request
 * is repeated automatically.
 */
export const Failed = ({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) => {
  const { title, detail, tag, status } = problemOf(error)
  const { path } = here()
  const conversation = conversationIn(path)
  useEffect(() => {
    if (!retry || title !== unreachable.title) return undefined
    const timer = setTimeout(retry, pause)
    return () => clearTimeout(timer)
  }, [error])
  return (
    <section class="failed" role="alert">
      <h2>{title}</h2>
      <p>{detail}</p>
      <p class="faint">{[tag, status > 0 && `status ${status}`].filter(Boolean).join(' · ')}</p>
      <p class="ways-on">
        {retry && (
          <button type="button" onClick={retry}>
            Try again
          </button>
        )}
        {conversation !== undefined && tag !== 'ConversationNotFound' && (
          <a href={hrefs.conversation(conversation)}>Last position</a>
        )}
        {path !== hrefs.list && <a href={hrefs.list}>All conversations</a>}
      </p>
    </section>
  )
}

/** Shows a one-line notice of a problem that stops updates. */
export const Notice = ({ title, children }: NoticeProps) => (
  <p class="notice" role="alert">
    <b>{title}:</b> {children}
  </p>
)
interface NoticeProps {
  readonly title: string
  readonly children: ComponentChildren
}

/** Shows the last indexed position and the problem that stopped indexing; shows nothing without a problem. */
export const NotIndexed = ({ indexed = -1, problem }: UpTo) =>
  problem === undefined ? null : (
    <Notice title={indexed < 0 ? 'Nothing has been indexed' : `Nothing after ${number(indexed)} is indexed`}>
      {problem}.
    </Notice>
  )
interface UpTo {
  readonly indexed?: number | undefined
  readonly problem?: string | undefined
}

/** Shows the server's reason for ending a stream; shows nothing if the server gave no reason. */
export const Stopped = ({ connection }: { readonly connection: ConnectionState }) => {
  const why = connection.state === 'offline' ? connection.why : undefined
  return why ? (
    <Notice title={why.title}>
      {why.detail}.{why.tag === 'StoreReplaced' && ' Start the server again, then load this page again.'}
    </Notice>
  ) : null
}

/** Returns a value once it has not changed for `ms` milliseconds; undefined until then. */
export const useRested = <T,>(value: T, ms: number): T | undefined => {
  const [rested, setRested] = useState<T>()
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested === value ? rested : undefined
}

/** State of a request: the last response or error, and whether another response is pending. */
export interface FetchState<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isBusy: boolean
  readonly retry: () => void
}

/**
 * Fetches a path, and fetches again when the path changes. Keeps the last response until the next one arrives; an older response never
 * replaces a newer one.
 *
 * @param path undefined to fetch nothing and drop the last response
 */
export const useFetched = <T extends PathOf<'get'>>(
  source: ApiSource,
  path: ApiPath<T> | undefined,
): FetchState<AnswerOf<'get', T>> =>
  useAsked(path === undefined ? undefined : (signal) => source.get(path, { signal }), [source, path])

/**
 * Runs an asynchronous function and returns its state. Used in place of `useFetched` where a single GET request is not enough.
 *
 * @param of dependencies: the function runs again when they change
 */
export const useAsked = <T,>(
  ask: ((signal: AbortSignal) => Promise<T>) | undefined,
  of: readonly unknown[],
): FetchState<T> => {
  const [state, setState] = useState<Omit<FetchState<T>, 'retry'>>({
    value: undefined,
    error: undefined,
    isBusy: ask !== undefined,
  })
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    if (ask === undefined) {
      setState((before) => (isEmpty(before) ? before : { value: undefined, error: undefined, isBusy: false }))
      return undefined
    }
    const asking = new AbortController()
    setState((before) => ({ ...before, isBusy: true }))
    ask(asking.signal).then(
      (value) => asking.signal.aborted || setState({ value, error: undefined, isBusy: false }),
      (error: unknown) => asking.signal.aborted || setState(({ value }) => ({ value, error, isBusy: false })),
    )
    return () => asking.abort()
  }, [...of, attempt])
  return { ...state, retry: () => setAttempt(attempt + 1) }
}

const isEmpty = ({ value, error, isBusy }: Omit<FetchState<unknown>, 'retry'>): boolean =>
  value === undefined && error === undefined && !isBusy
