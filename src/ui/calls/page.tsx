import './calls.css'
import { useState } from 'preact/hooks'
import { offBecause } from '../acts/preview.ts'
import { useSession } from '../acts/session.ts'
import type { PageProps } from '../page.ts'
import { go } from '../router.ts'
import type { CallListResponse } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'
import { Bar, Empty, Failed, type FetchState, Skeleton, useAsked, useFetched } from '../states.tsx'
import { apiOf, hrefs } from '../url.ts'
import { count, dollars, duration, number, percent } from '../words.ts'
import { isOpen, openIn, openText, toggleName } from './open.ts'
import { Turn } from './turn.tsx'
import {
  type CallItem,
  type CallRow,
  type CallTurn,
  latencyOf,
  medianOf,
  rowsOf,
  sumsOf,
  turnsOf,
} from './turns.ts'
import { type SubagentState, useSubagents } from './use-subagents.ts'

/** Number of calls requested at a time, and of turns shown at first. */
const pageLength = 1_000
const turnsAtOnce = 200

/** Shows the model calls of a conversation: turns that sum, their calls, what each was sent and answered, and the steps with their times. */
export const CallsPage = ({ source, params: { id = '' }, search }: PageProps) => {
  const from = Number(/[?&]from=(\d{1,15})/.exec(search)?.[1] ?? 0)
  const { value, error, isBusy, retry, more } = useCalls(source, id, from)
  const off = offBecause(source.isLive, useSession(source))
  const rows = rowsOf(value?.items ?? [])
  const turns = turnsOf(rows)
  const subagents = useSubagents(source, id, rows)
  const [shown, setShown] = useState(turnsAtOnce)
  const open = openIn(search, turns)
  const toggle = (name: string): void =>
    go(hrefs.calls(id, { from: from || undefined, open: openText(toggleName(open, name, turns)) }), {
      replace: true,
    })
  return (
    <>
      <Bar isBusy={isBusy} />
      <main class="plain calls-page" aria-busy={isBusy}>
        <h2 class="sr-only">Calls</h2>
        {error !== undefined && <Failed error={error} retry={retry} />}
        {!value && error === undefined && <Skeleton />}
        {value && rows.length === 0 && (
          <Empty title="No call of a model is recorded">
            <p class="faint">Only replies that name their model, their request or their tokens are listed.</p>
          </Empty>
        )}
        {value && rows.length > 0 && (
          <>
            <Totals
              turns={turns}
              rows={rows}
              subagents={subagents}
              isAll={value.next === undefined && from === 0}
            />
            {from > 0 && (
              <p class="faint calls-note">
                From position {number(from)}. <a href={hrefs.calls(id)}>All calls from the first</a>
              </p>
            )}
            <table class="call-table">
              <thead>
                <tr>
                  <th class="n">Call</th>
                  <th>Turn and what was answered</th>
                  <th class="num at">At</th>
                  <th class="model">Model</th>
                  <th class="num">New in</th>
                  <th class="num">Cached</th>
                  <th class="num out">Out</th>
                  <th class="num cost">Cost, $</th>
                  <th class="num latency" title="From the event that the request was made after to the reply">
                    Latency
                  </th>
                  <th class="stopped">Stopped</th>
                  <th class="proof">Proof</th>
                </tr>
              </thead>
              {turns.slice(0, shown).map((turn) => (
                <Turn
                  key={turn.first}
                  {...{ source, id, turn, turns, subagents, off, toggle }}
                  isOpen={isOpen(open, turn)}
                  open={open}
                  decided={retry}
                />
              ))}
            </table>
            <p class="calls-more">
              {turns.length > shown && (
                <button type="button" onClick={() => setShown(shown + turnsAtOnce)}>
                  Show {count(Math.min(turnsAtOnce, turns.length - shown), 'more turn')} of{' '}
                  {number(turns.length - shown)}
                </button>
              )}
              {turns.length <= shown && value.next !== undefined && (
                <>
                  <button type="button" onClick={more} disabled={isBusy}>
                    Show the calls after position {number(rows.at(-1)?.position ?? 0)}
                  </button>
                  <Newest source={source} id={id} />
                </>
              )}
            </p>
          </>
        )}
      </main>
    </>
  )
}

/** Links to the calls at the end of a conversation that has more calls than one page. */
const Newest = ({ source, id }: { readonly source: ApiSource; readonly id: string }) => {
  const { value } = useFetched(source, apiOf(id, ''))
  return value ? (
    <a href={hrefs.calls(id, { from: Math.max(0, value.position - pageLength) })}>Newest calls</a>
  ) : null
}

interface LoadedCalls {
  readonly items: readonly CallItem[]
  readonly next: number | undefined
}

/** Loads the calls from a position on, and the next page each time `more` is called. */
const useCalls = (
  source: ApiSource,
  id: string,
  from: number,
): FetchState<LoadedCalls> & { readonly more: () => void } => {
  const [pages, setPages] = useState(1)
  const asked = useAsked(
    async (signal) => {
      const items: CallItem[] = []
      let next: number | undefined = from
      for (let page = 0; page < pages && next !== undefined; page++) {
        const answer: CallListResponse = await source.get(
          apiOf(id, '/calls', { from: next, limit: pageLength, steps: true }),
          { signal },
        )
        items.push(...answer.items)
        next = answer.next
      }
      return { items, next }
    },
    [source, id, from, pages],
  )
  return { ...asked, more: () => setPages(pages + 1) }
}

interface TotalsProps {
  readonly turns: readonly CallTurn[]
  readonly rows: readonly CallRow[]
  readonly subagents: SubagentState
  readonly isAll: boolean
}

const Totals = ({ turns, rows, subagents, isAll }: TotalsProps) => {
  const inside = [...subagents.calls.values()].flatMap((one) => one.rows)
  const own = sumsOf(rows)
  const all = sumsOf([...rows, ...inside])
  const abandoned = sumsOf(rows.filter((row) => row.abandoned !== undefined))
  const latency = medianOf([...rows, ...inside].flatMap((row) => latencyOf(row) ?? []))
  const { summaries } = own
  // As in the tab and the list; each other number is named.
  const replies = own.calls - summaries
  const read = percent(all.read, all.fresh + all.read)
  return (
    <>
      <dl class="totals figures">
        <Total value={`${number(replies)}${isAll ? '' : '+'}`}>
          {replies === 1 ? 'call' : 'calls'} in {count(turns.length, 'turn')}
          {summaries > 0 && `, ${number(summaries)} more for ${summaries === 1 ? 'a summary' : 'summaries'}`}
          {inside.length > 0 &&
            `, ${number(inside.length)} more by ${subagents.calls.size === 1 ? 'a subagent' : 'subagents'}`}
        </Total>
        {read !== '' && <Total value={read}>read from the cache</Total>}
        {all.usd !== undefined && (
          <Total value={`${all.understated > 0 ? '≥ ' : ''}${dollars(all.usd)}`}>
            {abandoned.usd === undefined || abandoned.usd === 0
              ? 'at list prices'
              : `${dollars(abandoned.usd)} of it abandoned`}
          </Total>
        )}
        {latency !== undefined && (
          <Total value={duration(latency)} isWide>
            median latency
          </Total>
        )}
        <Total value={`${number(all.receipts)} of ${number(all.calls)}`} isWide>
          with a receipt
        </Total>
      </dl>
      {own.understated > 0 && (
        <p class="faint calls-note">
          {count(own.understated, 'reply is', 'replies are')} far longer than the output recorded for{' '}
          {own.understated === 1 ? 'it' : 'them'} (marked ≥): the program that wrote this session did not
          record all tokens, so costs are as recorded, and too low.
        </p>
      )}
    </>
  )
}

interface TotalProps {
  readonly value: string
  /** True for a figure that a phone has no room for. */
  readonly isWide?: boolean
  readonly children: preact.ComponentChildren
}
const Total = ({ value, isWide = false, children }: TotalProps) => (
  <div class={isWide ? 'wide-total' : ''}>
    <dt>{children}</dt>
    <dd>{value}</dd>
  </div>
)
