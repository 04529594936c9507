import './list.css'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useSession } from '../acts/session.ts'
import { InHeader } from '../head/in-header.tsx'
import { Connection } from '../head/live.tsx'
import type { PageProps } from '../page.ts'
import { go } from '../router.ts'
import { openSheet } from '../sheet.tsx'
import type { ConnectionState } from '../source/source.ts'
import { Bar, Empty, Failed, Skeleton, Stopped } from '../states.tsx'
import { hrefs } from '../url.ts'
import type { ConversationListResponse } from '../source/answers.ts'
import { useActions } from '../use-keys.ts'
import { useTitle } from '../use-title.ts'
import { count, number } from '../words.ts'
import { Chips, Order, Sought } from './filters.tsx'
import { Hits } from './hits.tsx'
import { AddSheet, NoConversations } from './no-conversations.tsx'
import { ConversationRow } from './row.tsx'
import {
  hrefOf,
  inSight,
  isNarrowed,
  isSearched,
  linesOf,
  listQueryIn,
  type ListPageQuery,
  tallyOf,
  topsOf,
} from './rows.ts'
import { useList } from './use-list.ts'

/** Lists the conversations that match the filters, and updates the list live. */
export const ListPage = ({ source, search }: PageProps) => {
  const asked = listQueryIn(search)
  const { listed, needed, error, isBusy, connection, live, more, retry } = useList(source, asked)
  const store = useSession(source)?.store
  const field = useRef<HTMLInputElement>(null)
  const isNarrow = isNarrowed(asked)
  const isEmpty = listed?.items.length === 0 && !isNarrow
  // Only the first page has the counts, and they change while the list is shown.
  const counts = useRef<ConversationListResponse['counts']>(undefined)
  counts.current = listed?.counts ?? counts.current
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
          {!isEmpty && <Sought asked={asked} ask={ask} field={field} isIndexed={source.isLive} />}
          {!isEmpty && source.isLive && (
            <button type="button" class="primary" onClick={() => openSheet(<AddSheet store={store} />)}>
              Import…
            </button>
          )}
        </div>
        <Stopped connection={connection} />
        {isEmpty ? (
          <NoConversations store={store} />
        ) : (
          source.isLive && <Chips asked={asked} ask={ask} counts={counts.current} />
        )}
        {error !== undefined && <Failed error={error} retry={retry} />}
        {!listed && error === undefined && <Skeleton rows={12} />}
        {isSearched(asked) && <Hits source={source} q={asked.q} />}
        {listed && !isEmpty && (
          <>
            <div class="tally">
              <Tally listed={listed} isNarrow={isNarrow} live={live.size} />
              {source.isLive && <Order asked={asked} ask={ask} />}
            </div>
            {listed.items.length === 0 && <NothingFound asked={asked} />}
            {listed.items.length > 0 && (
              <Rows {...{ listed, needed, live, more, isBusy }} order={asked.order} isNested={!isNarrow} />
            )}
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
    <p class="faint figures" role="status">
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
const NothingFound = ({ asked }: { readonly asked: ListPageQuery }) => {
  const { q, in: place } = asked
  const isFiltered = isNarrowed({ ...asked, q: '' })
  return (
    <Empty title="No conversation matches">
      {q !== '' && place === 'ids' && (
        <p>
          Ids are searched from their beginning.{' '}
          <a href={hrefOf({ ...asked, in: 'text' })}>Search everything</a>
        </p>
      )}
      {q !== '' && place === 'text' && (
        <p>
          {isSearched(asked)
            ? 'A search finds an exact part of what was said, of a path, a tool’s name or an id. Try fewer or other words.'
            : 'Fewer than three characters only find the beginning of an id. Type more to search everything.'}
        </p>
      )}
      <p class="ways-on">
        {isFiltered && q !== '' && (
          <a href={hrefOf({ ...listQueryIn(''), q, in: place })}>Search without the filters</a>
        )}
        <a href={hrefs.list}>{isFiltered && q === '' ? 'Remove the filters' : 'Show all conversations'}</a>
      </p>
    </Empty>
  )
}

const Live = ({ connection }: { readonly connection: ConnectionState }) => (
  <span class={`live-state ${connection.state}`} role="status">
    <Connection connection={connection} />
  </span>
)

/** Heights of lines, in CSS pixels, as in list.css. */
const heights = { wide: { row: 52, group: 42 }, narrow: { row: 64, group: 42 } }
const narrow = matchMedia('(width < 700px)')

interface RowsProps {
  readonly listed: ConversationListResponse
  readonly needed: ConversationListResponse['items']
  readonly live: ReadonlyMap<string, number>
  readonly more: () => void
  readonly isBusy: boolean
  readonly order: string
  readonly isNested: boolean
}

/** Shows the rows in view. Fetches more when the end of the list is near. */
const Rows = ({ listed, needed, live, more, isBusy, order, isNested }: RowsProps) => {
  const list = useRef<HTMLDivElement>(null)
  const [sight, setSight] = useState({ from: 0, to: 1_000, isNarrow: narrow.matches })
  const now = useNow(10_000)
  const today = new Date(now).setHours(0, 0, 0, 0)
  const { items } = listed
  const lines = useMemo(
    () =>
      isNested
        ? linesOf(items, needed, order === '' ? today : undefined)
        : items.map((overview) => ({ overview, depth: 0 })),
    [items, needed, isNested, order, today],
  )
  const tops = useMemo(
    () => topsOf(lines, heights[sight.isNarrow ? 'narrow' : 'wide']),
    [lines, sight.isNarrow],
  )
  useEffect(() => {
    const look = (): void => {
      const top = list.current?.getBoundingClientRect().top ?? 0
      setSight({ from: -top, to: innerHeight - top, isNarrow: narrow.matches })
    }
    look()
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [])
  const [first, end] = inSight(tops, sight)
  useEffect(() => {
    if (end >= lines.length - 10) more()
  }, [end, lines.length, isBusy])
  useRowKeys(list)
  return (
    <div role="table" aria-label="Conversations" aria-rowcount={lines.length + 1}>
      <div role="rowgroup">
        <div role="row" class="listed-head" aria-rowindex={1}>
          {columns.map(([name, words]) => (
            <span key={name} role="columnheader" class={`of-${name}`}>
              {words}
              {name === 'time' && order === '' && <span aria-hidden="true"> ↓</span>}
            </span>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="listing" ref={list} style={{ height: `${tops.at(-1) ?? 0}px` }}>
        {lines.slice(first, end).map((line, index) => {
          const [top, place] = [tops[first + index] ?? 0, first + index + 2]
          return 'group' in line ? (
            <div
              key={line.group}
              role="row"
              class="list-group"
              aria-rowindex={place}
              style={{ top: `${top}px` }}
            >
              <span role="rowheader">{line.group}</span>
            </div>
          ) : (
            <ConversationRow
              key={line.overview.id}
              row={line}
              {...{ top, place, now }}
              liveAt={live.get(line.overview.id)}
            />
          )
        })}
      </div>
    </div>
  )
}

/** Columns of the list, in order, with their headings. */
const columns = [
  ['status', 'Status'],
  ['title', 'Title'],
  ['history', 'History'],
  ['context', 'Context'],
  ['tokens', 'Tokens'],
  ['cost', 'Cost, $'],
  ['errors', 'Errors'],
  ['calls', 'Calls'],
  ['model', 'Model'],
  ['time', 'Last activity'],
] as const

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
