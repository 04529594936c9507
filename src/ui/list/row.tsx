import { Glyph, type GlyphName } from '../head/glyphs.tsx'
import { tellAbout } from '../head/about.ts'
import { StatusWord } from '../head/status.tsx'
import { hrefs } from '../url.ts'
import { brief, count, lastActive, moment, number, shortId, shortModel, sourceName } from '../words.ts'
import { curvePath, type ListRow } from './rows.ts'

interface ConversationRowProps {
  readonly row: ListRow
  /** Distance from the top of the list, in CSS pixels. */
  readonly top: number
  readonly place: number
  /** Current time, in milliseconds since 1970. */
  readonly now: number
  /** Time of the last event that the page received live, in milliseconds since 1970. */
  readonly liveAt: number | undefined
}

/** Number of milliseconds after its last event during which a conversation counts as live. */
const liveFor = 30_000
/** Maximum number of levels by which forks are indented. */
const deepest = 4

/** Traits with a place of their own in the column, so that the column can be scanned. */
const marks = ['condensed', 'truncated', 'rewound', 'restored'] as const satisfies readonly GlyphName[]

/** Number of marks that the server counts: the newest ones. */
const mostMarks = 1_000

export const ConversationRow = ({ row, top, place, now, liveAt }: ConversationRowProps) => {
  const { overview, depth } = row
  const { id, title, tokens, curve, calls, replies = calls, has = [], updated, problem } = overview
  const { parent, isMeasured, status, errors, cost, isCostPartial, model } = overview
  const counted = overview.marks ?? {}
  const isPartial = marks.reduce((sum, mark) => sum + (counted[mark] ?? 0), 0) >= mostMarks
  const isLive = liveAt !== undefined && now - liveAt < liveFor
  return (
    <div
      role="row"
      aria-rowindex={place}
      class={`listed ${depth > 0 ? 'under' : ''}`}
      style={{ top: `${top}px` }}
    >
      <span role="cell" class="of-status">
        {status !== undefined && <StatusWord status={status} />}
      </span>
      <span role="cell" class="of-title" style={{ '--depth': String(Math.min(depth, deepest)) }}>
        <a class="listed-link" href={hrefs.conversation(id)} onClick={() => tellAbout(overview)}>
          <span class="title" dir="auto">
            {depth > 0 && <Glyph name={relationOf(overview)} class="is-idle" />}
            {isLive && (
              <span class="live-dot" title="new events are arriving">
                ●<span class="sr-only"> live </span>
              </span>
            )}
            {title.trim() === '' ? <i class="faint">no text yet</i> : title.trim()}
          </span>
          <span class="id">
            <code title={id}>
              <bdi>{shortId(id)}</bdi>
            </code>
            {parent !== undefined && ` · ${relationOf(overview)}${depth > 0 ? '' : ` of ${shortId(parent)}`}`}
            {depth === 0 && overview.source !== undefined && ` · ${sourceName(overview.source)}`}
            <span class="note">{noteOf(overview)}</span>
            {problem !== undefined && <b class="problem"> {problem}</b>}
          </span>
        </a>
      </span>
      <span role="cell" class="of-history">
        {marks.map((mark) => (
          <span key={mark} class={`mark is-${mark}`} title={has.includes(mark) ? mark : undefined}>
            {has.includes(mark) && (
              <>
                <Glyph name={mark} />
                <span class="sr-only">{mark} </span>
                {counted[mark] !== undefined && (
                  <span class="figures">
                    {number(counted[mark])}
                    {isPartial && '+'}
                  </span>
                )}
              </>
            )}
          </span>
        ))}
      </span>
      <span role="cell" class="of-context">
        <Curve curve={curve} marks={overview.curveMarks} />
      </span>
      <span
        role="cell"
        class="figures of-tokens"
        title={isMeasured === false ? 'Estimated, at least in part' : undefined}
      >
        {tokens === undefined ? '' : brief(tokens)}
      </span>
      <span
        role="cell"
        class="figures of-cost"
        title={isCostPartial ? 'The usage or the price of some calls is not known' : undefined}
      >
        {cost === undefined ? (
          <Nothing />
        ) : (
          <a href={hrefs.tokens(id)} aria-label={`cost ${cost.toFixed(2)} dollars`}>
            {isCostPartial ? '≥ ' : ''}
            {cost.toFixed(2)}
          </a>
        )}
      </span>
      <span role="cell" class="figures of-errors">
        {errors ? <span class="is-failed">{number(errors)}</span> : <Nothing />}
      </span>
      <span role="cell" class="figures of-calls" title={replies ? receiptsOf(replies, calls) : undefined}>
        {replies ? (
          <a href={hrefs.calls(id)} aria-label={count(replies, 'call')}>
            {number(replies)}
          </a>
        ) : (
          <Nothing />
        )}
      </span>
      <span role="cell" class="of-model" title={model}>
        {model === undefined ? '' : shortModel(model)}
      </span>
      <span role="cell" class="figures of-time">
        <time dateTime={updated} title={moment(updated)}>
          {lastActive(updated, now)}
        </time>
      </span>
    </div>
  )
}

const Nothing = () => (
  <span class="is-idle" aria-hidden="true">
    –
  </span>
)

/** Says how many replies have a receipt: one that is listed may be wrong. */
const receiptsOf = (replies: number, calls = 0): string =>
  `${count(calls, 'reply receipt')}${calls < replies ? `, ${number(replies - calls)} without` : ''}`

/** Says what a conversation is to its parent. */
const relationOf = ({ has = [] }: ListRow['overview']) => (has.includes('forked') ? 'fork' : 'subagent')

/** Says what a conversation waits for. */
const noteOf = ({ waitsFor = [], status }: ListRow['overview']): string => {
  if (status !== 'needs-approval' || waitsFor.length === 0) return ''
  const [first, ...others] = waitsFor
  return ` · ${first}${others.length > 0 ? ` and ${others.length} more` : ''} waits`
}

const [width, height] = [120, 24]

const markOf: Readonly<Record<string, (typeof marks)[number]>> = {
  C: 'condensed',
  T: 'truncated',
  W: 'rewound',
  R: 'restored',
}

interface CurveProps {
  readonly curve: readonly number[] | undefined
  /** Letter of the last mark in each part of the curve, or `-`. */
  readonly marks: string | undefined
}

/** Shows the number of context tokens over time as a small chart, with its marks. */
const Curve = ({ curve = [], marks: letters = '' }: CurveProps) => {
  if (curve.length < 2) return null
  const step = width / (curve.length - 1)
  const line = curvePath(curve, width, height - 4)
  return (
    <svg class="curve" viewBox={`0 -2 ${width} ${height}`} width={width} height={height} aria-hidden="true">
      <path class="area" d={`${line}L${width} ${height}L0 ${height}Z`} />
      <path class="line" d={line} />
      {Array.from(letters).map((letter, index) => {
        const mark = markOf[letter]
        return (
          mark && <path key={index} class={`mark-line is-${mark}`} d={`M${index * step} -2V${height - 2}`} />
        )
      })}
    </svg>
  )
}
