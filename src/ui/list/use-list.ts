import { useEffect, useRef, useState } from 'preact/hooks'
import type { Connection, Source } from '../source/source.ts'
import { queryOf } from '../url.ts'
import { type Asked, happened, type Listed, pathOf, withPage } from './rows.ts'

/** How many conversations are fetched at once. */
const page = 100

export interface List {
  /** What is there of the answer; undefined before the first one. */
  readonly listed: Listed | undefined
  readonly error: unknown
  readonly isBusy: boolean
  readonly connection: Connection
  /** Conversations in which something happened since the page was opened, with when (ms since 1970). */
  readonly live: ReadonlyMap<string, number>
  readonly more: () => void
  readonly retry: () => void
}

/** The conversations that are asked for, page by page, kept up to date by what happens in the store. */
export const useList = (source: Source, asked: Asked): List => {
  const [listed, setListed] = useState<Listed>()
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(true)
  const [attempt, setAttempt] = useState(0)
  const path = pathOf(asked)
  const asking = useRef<AbortController>(undefined)

  const load = (cursor: string | undefined): void => {
    asking.current?.abort()
    const own = new AbortController()
    asking.current = own
    setBusy(true)
    const ask = async (): Promise<void> => {
      try {
        const got = await source.get<Listed>(
          `${path}${path.includes('?') ? '&' : '?'}${queryOf({ limit: page, cursor }).slice(1)}`,
          {
            signal: own.signal,
          },
        )
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
  useEffect(() => {
    load(undefined)
    return () => asking.current?.abort()
  }, [source, path, attempt])

  const again = (): void => setAttempt((before) => before + 1)
  // What is still being indexed is asked for again, until the reader has scrolled on.
  useEffect(() => {
    if (listed?.isComplete !== false || listed.items.length > page) return undefined
    const timer = setTimeout(again, pause)
    return () => clearTimeout(timer)
  }, [listed])
  const { connection, live } = useLive(source, setListed, again)
  const more = (): void => {
    if (!isBusy && listed?.next !== undefined) load(listed.next)
  }
  return { listed, error, isBusy, connection, live, more, retry: again }
}

/** The list is asked for again at most so often, in milliseconds, when conversations come that it does not have. */
const pause = 2_000

type SetListed = (change: (before: Listed | undefined) => Listed | undefined) => void

const useLive = (source: Source, setListed: SetListed, again: () => void) => {
  const [connection, setConnection] = useState<Connection>({ state: 'connecting' })
  const [live, setLive] = useState<ReadonlyMap<string, number>>(new Map())
  useEffect(() => {
    if (!source.isLive) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const told = (data: unknown): void => {
      const { conversation, event } = data as { readonly conversation: string; readonly event: Happened }
      const { time } = event.metadata
      setLive((before) => new Map(before).set(conversation, Date.now()))
      let isKnown = true
      setListed((before) => {
        if (!before) return before
        isKnown = before.items.some(({ id }) => id === conversation)
        return isKnown ? happened(before, conversation, event.position, time) : before
      })
      if (!isKnown) timer ??= setTimeout(() => ((timer = undefined), again()), pause)
    }
    const stop = source.follow('/events?from=now', undefined, {
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

interface Happened {
  readonly position: number
  readonly metadata: { readonly time: string }
}
