import { escapeHtml } from '../escape-html.ts'

/** A curve with one value per call. */
export interface ChartSeries {
  readonly name: string
  /** CSS class that sets the colour of the curve. */
  readonly ink: string
  readonly values: readonly number[]
  /** Mark drawn at each value, such as `◆`; an empty text draws no mark. */
  readonly marks: readonly string[]
}

interface Chart {
  readonly title: string
  readonly calls: readonly string[]
  readonly lines: readonly ChartSeries[]
  readonly textOf: (value: number) => string
}

/** Maximum number of marks in a chart: more would cover the curves. */
const mostMarks = 400

/** Draws curves over the calls, as an HTML figure. The curves stretch with the page; texts and marks keep their size, to stay legible. */
export const chart = ({ title, calls, lines, textOf }: Chart): string => {
  if (calls.length === 0) return ''
  const top = roundedUp(lines.reduce((most, { values }) => values.reduce((a, b) => Math.max(a, b), most), 0))
  const x = (index: number): number => rounded(calls.length === 1 ? 50 : (100 * index) / (calls.length - 1))
  const y = (value: number): number => rounded(100 - (100 * value) / top)
  const paths = lines.map(
    ({ ink, values }) =>
      `<path class="${ink}" d="${values.map((value, index) => `${index === 0 ? 'M' : 'L'}${x(index)} ${y(value)}`).join('')}${values.length === 1 ? 'h.01' : ''}"/>`,
  )
  const marks = lines.flatMap(({ name, ink, values, marks: all }) =>
    all.flatMap((mark, index) => {
      const value = values[index] ?? 0
      const about = `${name}, ${calls[index]}: ${textOf(value)}`
      return mark === ''
        ? []
        : [
            `<i class="${ink}" style="left:${x(index)}%;top:${y(value)}%" title="${escapeHtml(about)}">${mark}</i>`,
          ]
    }),
  )
  const left = Math.max(0, marks.length - mostMarks)
  return `<figure>
<figcaption>${title}</figcaption>
<div class="chart">
<div class="scale" aria-hidden="true"><span>${textOf(top)}</span><span>${textOf(top / 2)}</span><span>0</span></div>
<div class="plot"><svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="${title}: ${lines.map((line) => escapeHtml(summaryOf(line, textOf))).join('; ')}"><path class="grid" d="M0 0H100M0 50H100M0 100H100"/>${paths.join('')}</svg>${marks.slice(0, mostMarks).join('')}</div>
<div class="calls" aria-hidden="true"><span>${calls[0]}</span><span>${calls.length > 1 ? calls.at(-1) : ''}</span></div>
</div>${left > 0 ? `<p class="note">${left} marks are left out.</p>` : ''}
</figure>`
}

const rounded = (value: number): number => Math.round(value * 100) / 100

/** Rounds a value up to a round number whose half is also round, for the scale of the chart. */
const roundedUp = (value: number): number => {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return power * ([1, 1.2, 1.6, 2, 3, 4, 5, 6, 8].find((step) => step * power >= value) ?? 10)
}

const summaryOf = ({ name, values }: ChartSeries, textOf: (value: number) => string): string => {
  const most = values.reduce((a, b) => Math.max(a, b), 0)
  return `${name}: at most ${textOf(most)}, at the end ${textOf(values.at(-1) ?? 0)}`
}
