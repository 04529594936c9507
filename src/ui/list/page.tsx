import './list.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useSession } from '../acts/session.ts'
import { InHeader } from '../head/in-header.tsx'
import { Connection } from '../head/live.tsx'
import type { PageProps } from '../page.ts'
import { go } from '../router.ts'
import type { ConnectionState } from '../source/source.ts'
import { Bar, Empty, Failed, Skeleton, Stopped } from '../states.tsx'
import { hrefs } from '../url.ts'
import type { ConversationListResponse } from '../source/answers.ts'
import { useActions } from '../use-keys.ts'
import { useTitle } from '../use-title.ts'
import { count, number } from '../words.ts'
import { Filters } from './filters.tsx'
import { Hits } from './hits.tsx'
import { NoConversations } from './no-conversations.tsx'
import { ConversationRow } from './row.tsx'
import {
  listQueryIn,
  type ListPageQuery,
  hrefOf,
  inSight,
  isNarrowed,
  isSearched,
  nestForks,
  tallyOf,
} from './rows.ts'
import { useList } from './use-list.ts'

/** Lists the conversations that match the filters, and updates the list live. */
export const ListPage = ({ source, search }: PageProps) => {
  const asked = listQueryIn(search)
  const { listed, error, isBusy, connection, live, more, retry } = useList(source, asked)
  const store = useSession(source)?.store
  const field = useRef<HTMLInputElement>(null)
  const isNarrow = isNarrowed(asked)
  const isEmpty = listed?.items.length === 0 && !isNarrow
  useActions({
    search: () => field.current?.focus(),
    audit: source.isLive ? () => go(hrefs.audit()) : undefined,
  })
  useTitle()
  const ask = (next: Partial<ListPageQuery>): void => go(hrefOf({ ...asked, ...next }), { replace: true })
  return (
    <>
      <Bar isBusy={isBusy && listed !== undefined} />
      {source.isLive && (
        <InHeader place="live">
          <Live connection={connection} />
        </InHeader>
      )}
      <main class="plain list">
        <div class="list-title">
          <h1>Conversations</h1>
          {store !== undefined && <code class="faint store">{store}</code>}
        </div>
        <Stopped connection={connection} />
        {isEmpty ? (
          <NoConversations />
        ) : (
          <Filters asked={asked} ask={ask} field={field} isIndexed={source.isLive} />
        )}
        {error !== undefined && <Failed error={error} retry={retry} />}
        {!listed && error === undefined && <Skeleton rows={12} />}
        {isSearched(asked) && <Hits source={source} q={asked.q} />}
        {listed && !isEmpty && (
          <>
            <Tally listed={listed} isNarrow={isNarrow} live={live.size} />
            {listed.items.length === 0 && <NothingFound asked={asked} />}
            <Rows {...{ listed, live, more, isBusy }} isNested={!isNarrow} />
          </>
        )}
      </main>
    </>
  )
}

const Tally = ({
  listed,
  isNarrow,
  live,
}: {
  readonly listed: ConversationListResponse
  readonly isNarrow: boolean
  readonly live: number
}) => {
  const { shown, of, total } = tallyOf(listed, isNarrow)
  const isPart = of === undefined || shown < of
  return (
    <p class="tally faint figures" role="status">
      {total === undefined
        ? count(of ?? shown, 'conversation')
        : `${number(of ?? shown)}${of === undefined ? ' or more' : ''} matching of ${number(total)}`}
      {of === undefined && total === undefined && ' loaded, and there are more'}
      {of !== undefined && isPart && ` · ${number(shown)} loaded`}
      {!listed.isComplete &&
        (listed.problem === undefined
          ? ' · the rest is still being indexed'
          : ` · the rest cannot be indexed: ${listed.problem}`)}
      {live > 0 && ` · ${number(live)} active`}
    </p>
  )
}

/** Says what to do if the filters leave nothing. */
const NothingFound = ({ asked: { q, in: place, has, model, actor } }: { readonly asked: ListPageQuery }) => (
  <Empty title="No conversation matches">
    <p class="faint">
      {q !== '' &&
        (place === 'ids' ? 'Ids are searched from their beginning. ' : 'Try fewer or other words. ')}
      <a href={hrefs.list}>{has + model + actor === '' ? 'Show all conversations' : 'Remove the filters'}</a>
    </p>
  </Empty>
)

const Live = ({ connection }: { readonly connection: ConnectionState }) => (
  <span class={`live-state ${connection.state}`} role="status">
    <Connection connection={connection} />
  </span>
)

/** Height of each row, in CSS pixels. */
const height = 44

interface RowsProps {
  readonly listed: ConversationListResponse
  readonly live: ReadonlyMap<string, number>
  readonly more: () => void
  readonly isBusy: boolean
  readonly isNested: boolean
}

/** Shows the rows in view. Fetches more when the end of the list is near. */
const Rows = ({ listed, live, more, isBusy, isNested }: RowsProps) => {
  const list = useRef<HTMLDivElement>(null)
  const [sight, setSight] = useState({ from: 0, to: 1_000 })
  const rows = useMemo(
    () => (isNested ? nestForks(listed.items) : listed.items.map((overview) => ({ overview, depth: 0 }))),
    [listed.items, isNested],
  )
  const now = useNow(10_000)
  useEffect(() => {
    const look = (): void => {
      const top = list.current?.getBoundingClientRect().top ?? 0
      setSight({ from: -top, to: innerHeight - top })
    }
    look()
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [])
  const [first, end] = inSight(rows.length, height, sight)
  useEffect(() => {
    if (end >= rows.length - 10) more()
  }, [end, rows.length, isBusy])
  useRowKeys(list)
  return (
    <div role="list" class="listing" ref={list} style={{ height: `${rows.length * height}px` }}>
      {rows.slice(first, end).map((row, index) => (
        <ConversationRow
          key={row.overview.id}
          row={row}
          top={(first + index) * height}
          place={first + index + 1}
          of={rows.length}
          now={now}
          liveAt={live.get(row.overview.id)}
        />
      ))}
    </div>
  )
}

/** Returns the current time (ms since 1970), updated every `every` milliseconds. */
const useNow = (every: number): number => {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every)
    return () => clearInterval(timer)
  }, [every])
  return now
}

/** Registers the arrow keys, j and k for moving the focus between rows. */
const useRowKeys = (list: { readonly current: HTMLDivElement | null }): void => {
  const move = (by: number) => (): void => {
    const links = [...(list.current?.querySelectorAll<HTMLElement>('a.listed-link') ?? [])]
    const at = links.findIndex((link) => link === document.activeElement)
    const next = at < 0 ? links.find((link) => link.getBoundingClientRect().top >= 0) : links[at + by]
    next?.focus()
  }
  useActions({ next: move(1), previous: move(-1), rowDown: move(1), rowUp: move(-1) })
}
