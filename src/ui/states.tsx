import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { AnswerOf, PathOf } from '../server/client/api.ts'
import type { ApiPath } from '../server/client/api-path.ts'
import { type ConnectionState, problemOf, type ApiSource, unreachable } from './source/source.ts'
import { number } from './words.ts'

/** A bar at the top while something is fetched for longer than 150 ms. What was shown stays. */
export const Bar = ({ isBusy }: { readonly isBusy: boolean }) => (
  <div class="bar" hidden={!isBusy} role="presentation" />
)

/** Rows to be: for the first load only. */
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

/** How long until what could not be reached is asked for again, in milliseconds. */
const pause = 4_000

/** A problem in the place of what it is a problem of; the rest of the page still works. It goes by itself once the server is reached again. */
export const Failed = ({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) => {
  const { title, detail, tag, status } = problemOf(error)
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
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </section>
  )
}

/** What keeps a page from continuing, in one line: what it shows stays. */
export const Notice = ({ title, children }: NoticeProps) => (
  <p class="notice" role="alert">
    <b>{title}:</b> {children}
  </p>
)
interface NoticeProps {
  readonly title: string
  readonly children: ComponentChildren
}

/** How far the index beside the store is, where something keeps it from continuing. */
export const NotIndexed = ({ indexed = -1, problem }: UpTo) =>
  problem === undefined ? null : (
    <Notice title={indexed < 0 ? 'Nothing of it is indexed' : `Nothing after ${number(indexed)} is indexed`}>
      {problem}.
    </Notice>
  )
interface UpTo {
  readonly indexed?: number | undefined
  readonly problem?: string | undefined
}

/** Why nothing new comes, where the server says so itself. */
export const Stopped = ({ connection }: { readonly connection: ConnectionState }) => {
  const why = connection.state === 'offline' ? connection.why : undefined
  return why ? (
    <Notice title={why.title}>
      {why.detail}.{why.tag === 'StoreReplaced' && ' Start the server again, then load this page again.'}
    </Notice>
  ) : null
}

/** A value once it has not changed for so many milliseconds; until then undefined. */
export const useRested = <T,>(value: T, ms: number): T | undefined => {
  const [rested, setRested] = useState<T>()
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return rested === value ? rested : undefined
}

/** What is fetched: of the last answer, and whether another one is on its way. */
export interface FetchState<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isBusy: boolean
  readonly retry: () => void
}

/** Fetches a path whenever it changes, and keeps the last answer until the next one is there. An older answer never replaces a newer one. @param path undefined: nothing, and what was there is gone */
export const useFetched = <T extends PathOf<'get'>>(
  source: ApiSource,
  path: ApiPath<T> | undefined,
): FetchState<AnswerOf<'get', T>> =>
  useAsked(path === undefined ? undefined : (signal) => source.get(path, { signal }), [source, path])

/** As `useFetched`, for what takes more than one answer. @param of what it is about: asked again when that changes */
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
