import { useEffect, useRef, useState } from 'preact/hooks'
import { apiPathOf } from '../../server/client/api-path.ts'
import { sessionNumber } from '../acts/session.ts'
import { isReturn } from '../router.ts'
import type { ConversationListResponse } from '../source/answers.ts'
import type { ConnectionState, ApiSource } from '../source/source.ts'
import { type ListPageQuery, updateList, pathOf, refreshList, withPage, type NewEvent } from './rows.ts'

/** Number of conversations per request. */
const page = 100

/**
 * List that was shown when the user last left the page. Its rows are available at once on return, so that the browser can restore the
 * scroll position.
 */
let left:
  | { readonly path: string; readonly session: number; readonly listed: ConversationListResponse }
  | undefined

export interface ListState {
  /** Conversations loaded so far; undefined before the first response. */
  readonly listed: ConversationListResponse | undefined
  readonly error: unknown
  readonly isBusy: boolean
  readonly connection: ConnectionState
  /** Time of the last event received live, by conversation, in milliseconds since 1970. */
  readonly live: ReadonlyMap<string, number>
  readonly more: () => void
  readonly retry: () => void
}

/** Returns the conversations that match a query, page by page, and keeps them up to date. */
export const useList = (source: ApiSource, asked: ListPageQuery): ListState => {
  const path = pathOf(asked)
  const [kept] = useState(() =>
    isReturn() && left?.path === path && left.session === sessionNumber() ? left.listed : undefined,
  )
  const [listed, setListed] = useState(kept)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(!kept)
  const asking = useRef<AbortController>(undefined)
  const refreshing = useRef<AbortController>(undefined)
  /** Cursor of the page requested last, for another attempt if it fails to load. */
  const missed = useRef<string>(undefined)

  const pageFrom = (
    cursor: string | undefined,
    { signal }: AbortController,
  ): Promise<ConversationListResponse> => source.get(pathOf(asked, { limit: page, cursor }), { signal })
  const load = (cursor: string | undefined): void => {
    asking.current?.abort()
    const own = new AbortController()
    asking.current = own
    missed.current = cursor
    setBusy(true)
    const ask = async (): Promise<void> => {
      try {
        const got = await pageFrom(cursor, own)
        if (own.signal.aborted) return
        setListed((before) => (cursor === undefined || !before ? got : withPage(before, got)))
        setError(undefined)
      } catch (reason) {
        if (!own.signal.aborted) setError(reason)
      }
      if (!own.signal.aborted) setBusy(false)
    }
    void ask()
  }
  const isKept = useRef(kept !== undefined)
  useEffect(() => {
    if (isKept.current) refresh.current()
    else load(undefined)
    isKept.current = false
    return () => {
      asking.current?.abort()
      refreshing.current?.abort()
    }
  }, [source, path])

  /** Requests the first page again to find new conversations. Loaded rows stay. */
  const refresh = useRef((): void => undefined)
  refresh.current = () => {
    refreshing.current?.abort()
    const own = new AbortController()
    refreshing.current = own
    const ask = async (): Promise<void> => {
      try {
        const first = await pageFrom(undefined, own)
        if (own.signal.aborted) return
        setListed((before) => refreshList(before, first))
        setError(undefined)
      } catch (reason) {
        if (!own.signal.aborted) setError(reason)
      }
    }
    void ask()
  }
  // While the index is incomplete, the first page is requested again, until the user has scrolled to further pages.
  useEffect(() => {
    if (listed?.isComplete !== false || listed.problem !== undefined || listed.items.length > page)
      return undefined
    const timer = setTimeout(() => refresh.current(), pause)
    return () => clearTimeout(timer)
  }, [listed])
  const leave = useRef((): void => undefined)
  leave.current = () => {
    // Until the first page of the current query has loaded, the rows belong to the previous query.
    const isOfPath = missed.current !== undefined || (!isBusy && error === undefined)
    left = listed && isOfPath ? { path, session: sessionNumber(), listed } : undefined
  }
  useEffect(() => () => leave.current(), [])
  const { connection, live } = useLive(source, setListed, () => refresh.current())
  const more = (): void => {
    if (!isBusy && error === undefined && listed?.next !== undefined) load(listed.next)
  }
  return { listed, error, isBusy, connection, live, more, retry: () => load(missed.current) }
}

/** Minimum interval between refreshes of the list, in milliseconds. */
const pause = 2_000

type SetListed = (
  change: (before: ConversationListResponse | undefined) => ConversationListResponse | undefined,
) => void

const useLive = (source: ApiSource, setListed: SetListed, again: () => void) => {
  const [connection, setConnection] = useState<ConnectionState>({ state: 'connecting' })
  const [live, setLive] = useState<ReadonlyMap<string, number>>(new Map())
  useEffect(() => {
    if (!source.isLive) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const told = (data: unknown): void => {
      const { conversation, event } = data as { readonly conversation: string; readonly event: NewEvent }
      setLive((before) => new Map(before).set(conversation, Date.now()))
      let isKnown = true
      setListed((before) => {
        if (!before) return before
        isKnown = before.items.some(({ id }) => id === conversation)
        return isKnown ? updateList(before, conversation, event) : before
      })
      if (!isKnown) timer ??= setTimeout(() => ((timer = undefined), again()), pause)
    }
    const stop = source.follow(apiPathOf('/events', {}, { from: 'now' }), undefined, {
      told: ({ data }) => told(data),
      connection: setConnection,
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [source])
  return { connection, live }
}
