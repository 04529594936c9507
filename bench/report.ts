import { cpus, loadavg } from 'node:os'

/** One row of the results. */
export interface Figure {
  readonly what: string
  readonly figure: string
  /** What it must be; left out for what is there to compare with. */
  readonly target?: string
  readonly isMet?: boolean
}

/** What one part of the benchmarks found. */
export interface PartResult {
  readonly title: string
  readonly figures: readonly Figure[]
  readonly table?: { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  /** How it was measured, and what was left out for which reason. */
  readonly notes: readonly string[]
}

const precise = (value: number): string => {
  if (!Number.isFinite(value)) return '–'
  return value.toLocaleString(
    'en',
    value >= 100 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 },
  )
}

/** A time as people read it, from milliseconds. */
export const duration = (ms: number): string => (ms < 1 ? `${precise(ms * 1_000)} µs` : `${precise(ms)} ms`)
export const times = (ratio: number): string => `${precise(ratio)} ×`
export const count = (value: number): string => precise(value)

/** A figure with a lower bound, written as `format` does. */
export const atLeast = (what: string, value: number, bound: number, format = times): Figure => ({
  what,
  figure: format(value),
  target: `≥ ${format(bound)}`,
  isMet: value >= bound,
})

/** A figure with an upper bound, written as `format` does. */
export const atMost = (what: string, value: number, bound: number, format = times): Figure => ({
  what,
  figure: format(value),
  target: `≤ ${format(bound)}`,
  isMet: value <= bound,
})

const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const met = ({ isMet }: Figure): string => (isMet === undefined ? '' : isMet ? 'yes' : '**no**')

const figuresText = (figures: readonly Figure[]): string =>
  tableOf(
    ['measured', 'figure', 'target', 'met'],
    figures.map((figure) => [figure.what, figure.figure, figure.target ?? '', met(figure)]),
  )

export const partText = ({ title, figures, table, notes }: PartResult): string =>
  [
    `## ${title}`,
    ...(figures.length > 0 ? [figuresText(figures)] : []),
    ...(table ? [tableOf(table.head, table.rows)] : []),
    ...(notes.length > 0 ? [notes.map((note) => `- ${note}`).join('\n')] : []),
  ].join('\n\n')

/** Every figure that has a target, in one table. */
export const summaryText = (results: readonly PartResult[]): string => {
  const rows = results.flatMap(({ title, figures }) =>
    figures.flatMap(({ what, figure, target, isMet }) =>
      target === undefined
        ? []
        : [[title.split(':')[0] ?? '', what, figure, target, isMet ? 'ok' : '**missed**']],
    ),
  )
  return `## Every bar\n\n${tableOf(['', 'measured', 'figure', 'bar', ''], rows)}`
}

/** The machine and the moment, as far as they explain figures. `load` is the load average when the run began. */
export const headText = (load: readonly number[], command = 'npm run bench'): string => {
  const { node, sqlite } = process.versions
  const [cpu] = cpus()
  const loads = [load, loadavg()].map(([minute = 0]) => minute.toFixed(2))
  return [
    '# Benchmarks',
    [
      `${new Date().toISOString().slice(0, 10)} · ${cpu?.model.trim() ?? 'unknown CPU'}, ${cpus().length} cores · ${process.platform}`,
      `Node ${node} · SQLite ${sqlite} · load average ${loads.join(' before, ')} after`,
    ].join(' · '),
    `Written by \`${command}\`. Every ratio is of one run: those compared take turns, round by round, and a figure is the median of the rounds.`,
  ].join('\n\n')
}
