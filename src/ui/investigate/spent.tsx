import { type CallRow, type CallTurn, rowsOf, sumsOf, turnsOf } from '../calls/turns.ts'
import type { CallListResponse, CostResponse } from '../source/answers.ts'
import { hrefs } from '../url.ts'
import { brief, count, dollars, number, percent } from '../words.ts'

interface SpentProps {
  readonly id: string
  readonly calls: CallListResponse
  readonly cost: CostResponse
}

/** Part of a cost: by kind of token, or of a turn. */
interface Part {
  readonly key: string
  readonly name: preact.ComponentChildren
  readonly note: string
  readonly usd: number
}

const kinds = [
  ['input', 'New input', ({ usage }: CallRow) => usage?.fresh],
  ['cacheWrite', 'Written to the cache', ({ usage }: CallRow) => usage?.written],
  ['cacheRead', 'Read from the cache', ({ usage }: CallRow) => usage?.read],
  ['output', 'Output', ({ usage }: CallRow) => usage?.output],
] as const

/** Number of turns listed, the most expensive ones. */
const most = 8
/** Smallest difference between the sum of the calls and the total that is shown, in US dollars. */
const least = 0.005

/** Shows the cost of a conversation and its reasons: by kind of token and by turn, with the part that was abandoned. */
export const Spent = ({ id, calls, cost }: SpentProps) => {
  const rows = rowsOf(calls.items)
  const sums = sumsOf(rows)
  if (sums.usd === undefined || cost.total.usd === 0) return null
  const own = cost.conversations.find((one) => one.id === id)?.own.usd ?? cost.total.usd
  const subagents = cost.conversations.length - 1
  const others = own - sums.usd
  const byKind: readonly Part[] = kinds.map(([kind, name, tokensOf]) => ({
    key: kind,
    name,
    note: `${brief(rows.reduce((sum, row) => sum + (tokensOf(row) ?? 0), 0))} tokens`,
    usd: rows.reduce((sum, { costs }) => sum + (costs?.[kind] ?? 0), 0),
  }))
  const searches = rows.reduce((sum, { costs }) => sum + (costs?.searches ?? 0), 0)
  const rest: readonly Part[] = [
    ...(searches > 0 ? [{ key: 'searches', name: 'Web searches', note: '', usd: searches }] : []),
    ...(others > least
      ? [
          {
            key: 'others',
            name: calls.next === undefined ? 'Failed calls' : 'Later calls',
            note: calls.next === undefined ? '' : `after position ${number(rows.at(-1)?.position ?? 0)}`,
            usd: others,
          },
        ]
      : []),
    ...(subagents > 0
      ? [{ key: 'subagents', name: count(subagents, 'subagent'), note: '', usd: cost.total.usd - own }]
      : []),
  ]
  const abandoned = sumsOf(rows.filter((row) => row.abandoned !== undefined))
  const understated = cost.total.understated
  return (
    <section class="spent" aria-labelledby="spent">
      <h2 id="spent">
        What it cost{' '}
        <b class="figures">
          {understated > 0 && '≥ '}
          {dollars(cost.total.usd)}
        </b>{' '}
        <span class="faint">
          at list prices
          {abandoned.usd !== undefined &&
            abandoned.usd > 0 &&
            `, ${dollars(abandoned.usd)} of it for ${count(abandoned.calls, 'call')} that ${abandoned.calls === 1 ? 'a rewind' : 'rewinds'} abandoned`}
        </span>
      </h2>
      {understated > 0 && (
        <p class="faint">
          As recorded, and too low: {count(understated, 'reply is', 'replies are')} far longer than the output
          recorded for {understated === 1 ? 'it' : 'them'}.
        </p>
      )}
      <div class="spent-sides">
        <Parts title="By kind" parts={[...byKind, ...rest]} whole={cost.total.usd} />
        <Parts title="By turn, most first" parts={byTurn(id, turnsOf(rows))} whole={cost.total.usd} />
      </div>
      <p>
        <a href={hrefs.calls(id)}>
          {count(sums.calls - sums.summaries, 'call')}
          {sums.summaries > 0 &&
            ` and ${number(sums.summaries)} for ${sums.summaries === 1 ? 'a summary' : 'summaries'}`}
          , one by one
        </a>
      </p>
    </section>
  )
}

const byTurn = (id: string, turns: readonly CallTurn[]): readonly Part[] =>
  turns
    .toSorted((one, other) => (other.sums.usd ?? 0) - (one.sums.usd ?? 0))
    .slice(0, most)
    .map(({ nth, first, prompt, sums, abandoned }) => ({
      key: String(first),
      name: (
        <>
          <a href={hrefs.calls(id, { open: `t${first}` })}>Turn {number(nth)}</a>{' '}
          <span class="faint">
            {abandoned !== undefined && `abandoned at ${number(abandoned)} · `}
            {prompt}
          </span>
        </>
      ),
      note: count(sums.calls, 'call'),
      usd: sums.usd ?? 0,
    }))

interface PartsProps {
  readonly title: string
  readonly parts: readonly Part[]
  readonly whole: number
}

const Parts = ({ title, parts, whole }: PartsProps) => (
  <table class="spent-parts figures">
    <caption>{title}</caption>
    <tbody>
      {parts.map(({ key, name, note, usd }) => (
        <tr key={key}>
          <th scope="row">{name}</th>
          <td class="faint">{note}</td>
          <td class="spent-bar" aria-hidden="true">
            <span style={{ width: `${(100 * usd) / whole}%` }} />
          </td>
          <td class="num faint">{percent(usd, whole)}</td>
          <td class="num">{dollars(usd)}</td>
        </tr>
      ))}
    </tbody>
  </table>
)
