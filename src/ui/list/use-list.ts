import { useEffect, useRef, useState } from 'preact/hooks'
import { apiPathOf } from '../../server/client/api-path.ts'
import { sessionNumber } from '../acts/session.ts'
import { isReturn } from '../router.ts'
import type { ConversationListResponse } from '../source/answers.ts'
import type { ConnectionState, ApiSource } from '../source/source.ts'
import {
  isNarrowed,
  type ListPageQuery,
  needing,
  type NewEvent,
  pathOf,
  refreshList,
  updateList,
  withFresh,
  withPage,
} from './rows.ts'

/** Number of conversations per request. */
const page = 100

/**
 * List that was shown when the user last left the page. Its rows are available at once on return, so that the browser can restore the
 * scroll position.
 */
let left:
  | {
      readonly path: string
      readonly session: number
      readonly listed: ConversationListResponse
      readonly needed: ConversationListResponse['items']
    }
  | undefined

export interface ListState {
  /** Conversations loaded so far; undefined before the first response. */
  readonly listed: ConversationListResponse | undefined
  /** Conversations that need somebody, for a list that no filter narrows; else empty. */
  readonly needed: ConversationListResponse['items']
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
    isReturn() && left?.path === path && left.session === sessionNumber() ? left : undefined,
  )
  const [listed, setListed] = useState(kept?.listed)
  const [needed, setNeeded] = useState(kept?.needed ?? [])
  const showsNeeded = source.isLive && !isNarrowed(asked) && asked.order === ''
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
  /** Returns what needs somebody; undefined if that cannot be learned. */
  const neededNow = async ({ signal }: AbortController): Promise<ListState['needed'] | undefined> => {
    if (!showsNeeded) return []
    const answer = source.get(pathOf(needing, { limit: mostNeeded }), { signal })
    return (await answer.catch(() => undefined))?.items
  }
  const load = (cursor: string | undefined): void => {
    asking.current?.abort()
    const own = new AbortController()
    asking.current = own
    missed.current = cursor
    setBusy(true)
    const ask = async (): Promise<void> => {
      try {
        // Both at once: rows that move down for what needs somebody would lose a click that has begun.
        const [got, needs] = await Promise.all([
          pageFrom(cursor, own),
          cursor === undefined ? neededNow(own) : undefined,
        ])
        if (own.signal.aborted) return
        if (needs) setNeeded(needs)
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
    if (isKept.current) refresh.current(true)
    else load(undefined)
    isKept.current = false
    return () => {
      asking.current?.abort()
      refreshing.current?.abort()
    }
  }, [source, path])

  /**
   * Requests the first page again. Loaded rows stay.
   *
   * @param isNew true to find new conversations; false to learn only what became of those in the list, which keep their places
   */
  const refresh = useRef((_isNew: boolean): void => undefined)
  refresh.current = (isNew) => {
    refreshing.current?.abort()
    const own = new AbortController()
    refreshing.current = own
    const ask = async (): Promise<void> => {
      try {
        const [first, needs] = await Promise.all([pageFrom(undefined, own), neededNow(own)])
        if (own.signal.aborted) return
        if (needs) setNeeded(needs)
        setListed((before) => (isNew || !before ? refreshList(before, first) : withFresh(before, first)))
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
    const timer = setTimeout(() => refresh.current(true), pause)
    return () => clearTimeout(timer)
  }, [listed])
  const leave = useRef((): void => undefined)
  leave.current = () => {
    // Until the first page of the current query has loaded, the rows belong to the previous query.
    const isOfPath = missed.current !== undefined || (!isBusy && error === undefined)
    left = listed && isOfPath ? { path, session: sessionNumber(), listed, needed } : undefined
  }
  useEffect(() => () => leave.current(), [])
  const { connection, live } = useLive(source, setListed, (isNew) => refresh.current(isNew))
  const more = (): void => {
    if (!isBusy && error === undefined && listed?.next !== undefined) load(listed.next)
  }
  return { listed, needed, error, isBusy, connection, live, more, retry: () => load(missed.current) }
}

/** Maximum number of conversations that are listed first because they need somebody. */
const mostNeeded = 50

/** Minimum interval between refreshes of the list, in milliseconds. */
const pause = 2_000

type SetListed = (
  change: (before: ConversationListResponse | undefined) => ConversationListResponse | undefined,
) => void

const useLive = (source: ApiSource, setListed: SetListed, again: (isNew: boolean) => void) => {
  const [connection, setConnection] = useState<ConnectionState>({ state: 'connecting' })
  const [live, setLive] = useState<ReadonlyMap<string, number>>(new Map())
  useEffect(() => {
    if (!source.isLive) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let isNew = false
    const told = (data: unknown): void => {
      const { conversation, event } = data as { readonly conversation: string; readonly event: NewEvent }
      setLive((before) => new Map(before).set(conversation, Date.now()))
      let isKnown = true
      setListed((before) => {
        if (!before) return before
        isKnown = before.items.some(({ id }) => id === conversation)
        return isKnown ? updateList(before, conversation, event) : before
      })
      isNew ||= !isKnown
      timer ??= setTimeout(() => {
        timer = undefined
        again(isNew)
        isNew = false
      }, pause)
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
