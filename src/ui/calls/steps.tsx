import { useEffect, useState } from 'preact/hooks'
import { hrefs } from '../url.ts'
import { brief, clock, count, shortDuration, number, shortModel } from '../words.ts'
import type { CallRow, CallTurn } from './turns.ts'
import type { SubagentState } from './use-subagents.ts'
import { clockOf, type StepSpan, spansOf } from './waterfall.ts'

interface StepsProps {
  readonly id: string
  readonly turn: CallTurn
  readonly subagents: SubagentState
  readonly isTitled?: boolean
}

/** Maximum number of steps drawn. */
const most = 200

/** Shows the steps of a turn on one clock: its calls, their tools, the calls of subagents inside, and waits for an approval. */
export const Steps = ({ id, turn, subagents, isTitled = false }: StepsProps) => {
  const now = useNow(turn.waits.some(({ wait, time }) => wait?.decision === undefined && time === undefined))
  const all = spansOf(turn, { subagents: subagents.calls, noteOf, now })
  const spans = all.slice(0, most)
  if (spans.length === 0) return null
  const axis = clockOf(spans)
  const tools = turn.rows.reduce((sum, row) => sum + row.tools.length + row.moreTools, 0)
  const inside = all.filter(({ depth, kind }) => depth > 1 && kind === 'assistant').length
  return (
    <section class="steps-of-turn" aria-label={`Steps of turn ${turn.nth}`}>
      {isTitled && (
        <h3>
          Steps of turn {number(turn.nth)}{' '}
          <span class="q">
            {number(turn.first)}–{number(turn.last)} · {shortDuration(axis.ms)} ·{' '}
            {count(turn.rows.length + inside, 'call')}, {count(tools, 'tool')}
          </span>
        </h3>
      )}
      <div class="waterfall" role="list">
        <div class="axis" aria-hidden="true">
          <span />
          <div class="track">
            {axis.ticks.map(({ place, ms }) => (
              <i key={place} style={{ left: `${place * 100}%` }}>
                {ms === 0 ? '0 s' : shortDuration(ms).replace('.0 s', ' s')}
              </i>
            ))}
          </div>
          <span />
        </div>
        {spans.map((span) => (
          <StepRow key={span.key} id={id} span={span} axis={axis} />
        ))}
      </div>
      {all.length > most && <p class="faint">{number(all.length - most)} more steps</p>}
      {axis.cuts.length > 0 && (
        <p class="faint">
          Left out of the clock: {axis.cuts.map(({ ms }) => shortDuration(ms)).join(', ')} in which nothing
          happened.
        </p>
      )}
      <p class="faint times-note">Times of events: a call begins with the event that it was made after.</p>
    </section>
  )
}

const noteOf = ({ model, usage }: CallRow): string =>
  [model && shortModel(model), usage && `${brief(usage.input)} in, ${brief(usage.output)} out`]
    .filter(Boolean)
    .join(' · ')

interface StepRowProps {
  readonly id: string
  readonly span: StepSpan
  readonly axis: ReturnType<typeof clockOf>
}

const StepRow = ({ id, span, axis }: StepRowProps) => {
  const { kind, label, depth, from, to, isOpen, position } = span
  const [begin, end] = [axis.placeOf(from), axis.placeOf(to)]
  const note = kind === 'approval' ? waitText(span) : span.note
  const isLeft = end > 0.65
  // Beside a long bar there is no room.
  const isAtEnd = kind === 'approval' || (isLeft && begin < 0.35)
  return (
    <div class="clock-row" role="listitem">
      <span class={`label tone-${kind}`} style={{ paddingInlineStart: `${Math.min(depth, 3) * 20}px` }}>
        {depth > 0 && <span aria-hidden="true">↳ </span>}
        <a href={hrefs.conversation(id, { at: position, sel: position })}>{label}</a>
      </span>
      <span class="track">
        <i
          class={`bar-of-step ${kind}`}
          style={{ left: `${begin * 100}%`, width: `max(3px, ${(end - begin) * 100}%)` }}
        />
        <em
          class={isAtEnd ? 'at-end' : ''}
          style={isAtEnd ? {} : isLeft ? { right: `${(1 - begin) * 100}%` } : { left: `${end * 100}%` }}
        >
          {note}
        </em>
      </span>
      <span class="num figures">
        {shortDuration(to - from)}
        {isOpen && <span class="sr-only"> so far</span>}
      </span>
    </div>
  )
}

const waitText = ({ isOpen, from, note }: StepSpan): string =>
  isOpen ? `needs approval since ${clock(from)}` : note

/** Returns the current time, which changes every second while a step is open. */
const useNow = (isOpen: boolean): number => {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (!isOpen) return undefined
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isOpen])
  return now
}
