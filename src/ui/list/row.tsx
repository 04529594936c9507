import { hrefs } from '../url.ts'
import { ago, brief, count, moment, number } from '../words.ts'
import { curvePath, type ListRow } from './rows.ts'

interface ConversationRowProps {
  readonly row: ListRow
  /** Distance from the top of the list, in CSS pixels. */
  readonly top: number
  readonly place: number
  readonly of: number
  /** Current time, in milliseconds since 1970. */
  readonly now: number
  /** Time of the last event that the page received live, in milliseconds since 1970. */
  readonly liveAt: number | undefined
}

/** Number of milliseconds after its last event during which a conversation counts as live. */
const liveFor = 30_000
/** Maximum number of levels by which forks are indented. */
const deepest = 4

export const ConversationRow = ({ row, top, place, of, now, liveAt }: ConversationRowProps) => {
  const { overview, depth } = row
  const { id, title, events, tokens, curve, calls, has = [], updated, problem } = overview
  const isLive = liveAt !== undefined && now - liveAt < liveFor
  return (
    <div role="listitem" aria-posinset={place} aria-setsize={of} class="listed" style={{ top: `${top}px` }}>
      <a class="listed-link" href={hrefs.conversation(id)}>
        <span class="name" style={{ paddingInlineStart: `${Math.min(depth, deepest) * 1.25}rem` }}>
          <span class="title" dir="auto">
            {depth > 0 && <span class="faint">└ {has.includes('forked') && 'fork '}</span>}
            {isLive && (
              <span class="live-dot" title="new events are arriving">
                ●<span class="sr-only"> live </span>
              </span>
            )}
            {title.trim() === '' ? <i class="faint">no text yet</i> : title.trim()}
          </span>
          <span class="id faint">
            <bdi>{id}</bdi>
            {problem !== undefined && <b class="problem"> {problem}</b>}
          </span>
        </span>
        <span class="has">
          {has
            .filter((trait) => trait !== 'forked')
            .map((trait) => (
              <span key={trait} class={trait}>
                {trait}
              </span>
            ))}
        </span>
        <Curve curve={curve} />
        <span class="figures tokens-of">{tokens === undefined ? '' : `${brief(tokens)} tokens`}</span>
        <span class="figures events-of" title={count(events, 'event')}>
          {number(events)} <span class="faint">ev</span>
        </span>
        <span class="figures calls-of" title="the audit also counts the receipts of calls for summaries">
          {calls ? count(calls, 'reply receipt') : ''}
        </span>
        <time class="faint figures" dateTime={updated} title={moment(updated)}>
          {ago(updated, now)}
        </time>
      </a>
    </div>
  )
}

const [width, height] = [96, 22]

/** Shows the number of context tokens over time as a small chart. */
const Curve = ({ curve = [] }: { readonly curve: readonly number[] | undefined }) => {
  if (curve.length < 2) return <span class="curve" />
  const line = curvePath(curve, width, height)
  return (
    <svg
      class="curve"
      viewBox={`0 -1 ${width} ${height + 2}`}
      width={width}
      height={height}
      aria-hidden="true"
    >
      <path class="area" d={`${line}L${width} ${height}L0 ${height}Z`} />
      <path class="line" d={line} />
    </svg>
  )
}
