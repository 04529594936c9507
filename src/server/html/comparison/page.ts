import type { ReplayReport, ReplayedCall } from '../../../investigate/index.ts'
import { chart, type ChartSeries } from './chart.ts'
import { escapeHtml } from '../escape-html.ts'
import { hashOf, headOf } from '../head.ts'
import { inks, style } from './style.ts'

/**
 * Makes a self-contained HTML page without scripts that compares policies on one conversation.
 *
 * @param policies replays of the same conversation; the first one with the recorded policy
 */
export const comparisonPage = (policies: readonly ReplayReport[]): string => {
  const [first] = policies
  const id = first?.conversation ?? ''
  const calls = first?.calls ?? []
  const names = calls.map(({ call, position }) =>
    call === undefined ? `reply at ${position}` : `call ${call}`,
  )
  // Marks are positioned by `style` attributes; all other styles must be in the hashed style sheet.
  const policy = `default-src 'none'; img-src data:; style-src-elem ${hashOf(style)}; style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'`
  return `${headOf({ title: `What if: ${id}`, policy, style })}
<body>
<main>
<h1>What if: ${escapeHtml(id)}</h1>
<p class="note">What other context policies would have sent in ${calls.length === 1 ? 'its call' : `its ${number(calls.length)} calls`}. No model was called: the answers are the recorded ones. Token counts are the API’s for unchanged requests, and estimates for all others.</p>
${totals(policies)}
${legend(policies)}
${chart({ title: 'Tokens of each request', calls: names, lines: linesOf(policies, ({ tokens }) => tokens), textOf: number })}
${chart({ title: 'Uncached tokens of each request', calls: names, lines: linesOf(policies, ({ tokens, read }) => tokens - read, false), textOf: number })}
${isPriced(policies) ? chart({ title: 'Cost so far, in US dollars', calls: names, lines: spentLines(policies), textOf: usd }) : '<p class="note">No costs: a model has no price (<code>--prices</code>).</p>'}
${neededSection(policies)}
${everyCall(policies)}
</main>
</body>
</html>
`
}

const number = (value: number): string => Math.round(value).toLocaleString('en')
const usd = (value: number): string => value.toFixed(value < 1 ? 4 : 2)

const isPriced = (policies: readonly ReplayReport[]): boolean =>
  policies.every(({ total }) => total.usd !== undefined)

const inkOf = (index: number): string => inks[index % inks.length] ?? ''
const name = ({ policy }: ReplayReport): string => escapeHtml(policy)

const totals = (policies: readonly ReplayReport[]): string => {
  const heads = [
    'tokens',
    'from the cache',
    'US dollars',
    'condensed',
    'truncated',
    'edited',
    'above the limit',
    'referenced but hidden',
  ]
  const rows = policies.map((each, index) => {
    const { tokens, read, usd: cost, condensed, truncated, edited, over, needed } = each.total
    const cells = [
      number(tokens),
      number(read),
      cost === undefined ? '' : usd(cost),
      ...[condensed, truncated, edited, over, needed].map(number),
    ]
    return `<tr><th scope="row"><span class="ink ${inkOf(index)}"></span>${name(each)}</th>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
  })
  return table(
    'Totals',
    `<tr><th scope="col">policy</th>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr>`,
    rows,
  )
}

const table = (label: string, head: string, rows: readonly string[]): string =>
  `<div class="wide" role="region" aria-label="${label}" tabindex="0"><table><thead>${head}</thead><tbody>${rows.join('\n')}</tbody></table></div>`

const legend = (policies: readonly ReplayReport[]): string =>
  `<ul class="legend">${policies
    .map(
      (each, index) =>
        `<li><svg class="${inkOf(index)}" viewBox="0 0 28 8" aria-hidden="true"><path d="M0 4H28"/></svg>${name(each)}</li>`,
    )
    .join(
      '',
    )}<li>◆ condensed</li><li>▼ truncated</li><li>✎ edited</li><li>● referenced but hidden</li><li>○ above the limit</li></ul>`

const linesOf = (
  policies: readonly ReplayReport[],
  valueOf: (call: ReplayedCall) => number,
  isMarked = true,
): readonly ChartSeries[] =>
  policies.map((each, index) => ({
    name: each.policy,
    ink: inkOf(index),
    values: each.calls.map(valueOf),
    marks: isMarked ? each.calls.map((call) => marksOf(call)) : [],
  }))

const marksOf = ({ condensed, truncated, edited, needed, isOver }: ReplayedCall): string =>
  `${condensed > 0 ? '◆' : ''}${truncated > 0 ? '▼' : ''}${edited > 0 ? '✎' : ''}${needed.length > 0 ? '●' : ''}${isOver ? '○' : ''}`

const spentLines = (policies: readonly ReplayReport[]): readonly ChartSeries[] =>
  policies.map((each, index) => {
    let sum = 0
    const values = each.calls.map((call) => (sum += call.usd ?? 0))
    return { name: each.policy, ink: inkOf(index), values, marks: [] }
  })

const neededSection = (policies: readonly ReplayReport[]): string => {
  const rows = policies.flatMap((each, index) =>
    each.calls
      .filter(({ needed }) => needed.length > 0)
      .map(({ position, call, needed }) => {
        const terms = needed.map(
          ({ term, inSummary }) =>
            `<code>${escapeHtml(term)}</code>${inSummary ? ' (a summary names it)' : ''}`,
        )
        return `<tr><th scope="row"><span class="ink ${inkOf(index)}"></span>${name(each)}</th><td>${call ?? ''}</td><td>${position}</td><td class="text">${terms.join(', ')}</td></tr>`
      }),
  )
  const about = 'Names in a recorded answer that the policy had hidden by then. A name may also be a guess.'
  const found =
    rows.length === 0
      ? '<p>Nothing.</p>'
      : table(
          'Referenced but hidden',
          '<tr><th scope="col">policy</th><th scope="col">call</th><th scope="col">position</th><th scope="col" class="text">names</th></tr>',
          rows,
        )
  return `<section><h2>Referenced but hidden</h2><p class="note">${about}</p>${found}</section>`
}

/** Makes a collapsible table with the tokens of every call for each policy. */
const everyCall = (policies: readonly ReplayReport[]): string => {
  const rows = (policies[0]?.calls ?? []).map(({ call, position }, index) => {
    const cells = policies.map((each) => {
      const one = each.calls[index]
      return `<td>${one ? `${marksOf(one)} ${number(one.tokens)}` : ''}</td>`
    })
    return `<tr><th scope="row">${call ?? ''}</th><td>${position}</td>${cells.join('')}</tr>`
  })
  const head = `<tr><th scope="col">call</th><th scope="col">position</th>${policies.map((each) => `<th scope="col">${name(each)}</th>`).join('')}</tr>`
  return `<details><summary>Tokens of every call</summary>${table('Tokens of every call', head, rows)}</details>`
}
