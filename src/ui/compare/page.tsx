import '../tabs.css'
import './compare.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Cut } from '../diff/cut.tsx'
import { EntryLine } from '../diff/rows-view.tsx'
import { stretchesOf } from '../diff/rows.ts'
import { InHeader } from '../head/in-header.tsx'
import type { PageProps } from '../page.ts'
import { goWhenAtRest } from '../router.ts'
import { Bar, Failed, Skeleton, useFetched } from '../states.tsx'
import type { ClippedItem } from '../source/answers.ts'
import type { ApiSource } from '../source/source.ts'
import { apiOf, hrefs, queryOf } from '../url.ts'
import { useActions } from '../use-keys.ts'
import { brief, count, number } from '../words.ts'
import { Choose } from './choose.tsx'
import {
  commonUntil,
  type CompareRow,
  compareRows,
  moveBy,
  type SideOutcome,
  outcomeOf,
  turnEnds,
} from './rows.ts'

type Which = 'left' | 'right'

/**
 * Shows two effective histories side by side, either of two conversations, such as a conversation and its fork, or of one conversation
 * at two positions.
 */
export const ComparePage = ({ source, params: { id = '' }, search }: PageProps) => {
  const query = new URLSearchParams(search)
  const other = query.get('with') ?? ''
  return (
    <>
      {other === '' ? (
        <main class="plain compare">
          <Choose source={source} id={id} />
        </main>
      ) : (
        <Compared
          source={source}
          left={{ id, at: whole(query.get('at')) }}
          right={{ id: other, at: whole(query.get('to')) }}
        />
      )}
    </>
  )
}

const whole = (text: string | null): number | undefined =>
  text !== null && /^(?:-1|\d{1,15})$/.test(text) ? Number(text) : undefined

interface Side {
  readonly id: string
  /** Position at which the history is shown; undefined for the last position. */
  readonly at: number | undefined
}
interface ComparedProps {
  readonly source: ApiSource
  readonly left: Side
  readonly right: Side
}

/** Maximum number of characters requested of each text: enough for one line. */
const clip = 300

const useSide = (source: ApiSource, { id, at }: Side) => {
  const path = (position: number | undefined) => apiOf(id, '/effective', { at: position, limit: 1_000, clip })
  const head = useFetched(source, path(undefined))
  const there = useFetched(source, at === undefined ? undefined : path(at))
  const shown = at === undefined ? head : there
  const { value: outline } = useFetched(
    source,
    shown.value && apiOf(id, '/outline', { from: shown.value.at, to: shown.value.at }),
  )
  return {
    ...shown,
    retry: (): void => {
      head.retry()
      there.retry()
    },
    stops: turnEnds(head.value?.items ?? []),
    last: head.value?.at,
    tokens: outline?.tokens[0],
  }
}

const Compared = ({ source, left, right }: ComparedProps) => {
  const sides = { left: useSide(source, left), right: useSide(source, right) }
  const [isLocked, setLocked] = useState(true)
  const error = sides.left.error ?? sides.right.error
  const at = { left: left.at ?? sides.left.value?.at ?? -1, right: right.at ?? sides.right.value?.at ?? -1 }
  // Target of the last move, which may not be in the address yet.
  const target = useRef(at)
  useEffect(() => {
    target.current = at
  }, [at.left, at.right])
  const move = (which: Which, turns: number, from: typeof at): void => {
    const next = (one: Which): number =>
      one === which || isLocked ? moveBy(sides[one].stops, from[one], turns) : from[one]
    target.current = { left: next('left'), right: next('right') }
    const { left: leftAt, right: to } = target.current
    goWhenAtRest(`/c/${encodeURIComponent(left.id)}/compare${queryOf({ with: right.id, at: leftAt, to })}`)
  }
  const step = (turns: number) => (): void => move('left', turns, target.current)
  useActions({ nextTurn: step(1), previousTurn: step(-1), next: step(1), previous: step(-1) })
  const retry = (): void => {
    sides.left.retry()
    sides.right.retry()
  }
  const rows =
    sides.left.value && sides.right.value
      ? compareRows(sides.left.value.items, sides.right.value.items)
      : undefined
  const top = (which: Which, { id }: Side) => (
    <SideTop
      id={id}
      at={at[which]}
      stops={sides[which].stops}
      tokens={sides[which].tokens}
      outcome={rows && outcomeOf(rows, which)}
      move={(turns) => move(which, turns, at)}
    />
  )
  return (
    <>
      <Bar isBusy={sides.left.isBusy || sides.right.isBusy} />
      <InHeader place="tabs">
        <label class="lock">
          <input type="checkbox" checked={isLocked} onChange={() => setLocked(!isLocked)} /> move both
        </label>
      </InHeader>
      <main class="plain compare">
        <h2 class="sr-only">
          {left.id} beside {right.id}
        </h2>
        <div class="sides">
          {top('left', left)}
          {top('right', right)}
        </div>
        {error !== undefined && <Failed error={error} retry={retry} />}
        {!rows && error === undefined && <Skeleton />}
        {rows && <Rows rows={rows} left={left.id} right={right.id} />}
        <Cut shown={sides.left.value} id={left.id} />
        <Cut shown={sides.right.value} id={right.id} />
      </main>
    </>
  )
}

interface SideTopProps {
  readonly id: string
  readonly at: number
  readonly stops: readonly number[]
  readonly tokens: number | undefined
  readonly outcome: SideOutcome | undefined
  readonly move: (turns: number) => void
}

/** Shows the position and the outcome of one of the two histories, with a slider that moves by turns. */
const SideTop = ({ id, at, stops, tokens, outcome, move }: SideTopProps) => {
  const turn = Math.max(
    0,
    stops.findLastIndex((end) => end <= at),
  )
  return (
    <section class="side" aria-label={id}>
      <h2>
        <a href={hrefs.conversation(id, { at })}>
          <bdi>{id}</bdi>
        </a>{' '}
        <span class="faint figures">at {number(at)}</span>
      </h2>
      <input
        type="range"
        aria-label={`turn of ${id}`}
        aria-valuetext={`turn ${turn + 1} of ${stops.length}, position ${at}`}
        min={0}
        max={Math.max(0, stops.length - 1)}
        value={turn}
        onInput={(event) => move(event.currentTarget.valueAsNumber - turn)}
      />
      {outcome && (
        <p class="figures">
          {count(outcome.items, 'item')}
          {tokens !== undefined && ` · about ${brief(tokens)} tokens`} ·{' '}
          {count(outcome.replies, 'reply', 'replies')} of its own
          {outcome.tools.slice(0, 6).map(([name, times]) => (
            <span key={name}>
              {' · '}
              <span class="call-name">{name}</span> {number(times)}
            </span>
          ))}
        </p>
      )}
      {outcome && outcome.last !== '' && (
        <p class="last" dir="auto">
          {outcome.last.slice(0, 400)}
        </p>
      )}
    </section>
  )
}

interface RowsProps {
  readonly rows: readonly CompareRow<ClippedItem>[]
  readonly left: string
  readonly right: string
}

const Rows = ({ rows, left, right }: RowsProps) => {
  const until = commonUntil(rows)
  return (
    <>
      {until === undefined && <p class="faint">The two histories differ from the first item on.</p>}
      {rows.map((row, index) =>
        row.kind === 'same' ? (
          <Same key={index} id={left} items={row.items} />
        ) : (
          <div key={index} class="apart">
            <Column id={left} items={row.left} />
            <Column id={right} items={row.right} />
          </div>
        ),
      )}
    </>
  )
}

/** Shows the items that both histories have in common as one collapsed list. */
const Same = ({ id, items }: { readonly id: string; readonly items: readonly ClippedItem[] }) => {
  const [open, setOpen] = useState(false)
  return (
    <details class="both-have" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="figures">{stretchesOf(items)}</span>{' '}
        <span class="faint">· {count(items.length, 'item')} that both have</span>
      </summary>
      {open && <Column id={id} items={items} />}
    </details>
  )
}

/** Maximum number of items shown in a column before it is expanded. */
const most = 60

const Column = ({ id, items }: { readonly id: string; readonly items: readonly ClippedItem[] }) => {
  const [all, setAll] = useState(false)
  const shown = all ? items : items.slice(0, most)
  return (
    <div class="column">
      {items.length === 0 && <p class="nothing">nothing here</p>}
      {shown.map((item) => (
        <EntryLine key={item.position} id={id} entry={item} />
      ))}
      {shown.length < items.length && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          {number(items.length - shown.length)} more
        </button>
      )}
    </div>
  )
}
