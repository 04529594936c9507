import type { Figures } from './figures.ts'

const at = (all: readonly number[], fraction: number): string => {
  const sorted = all.toSorted((one, other) => one - other)
  const found = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))]
  return found === undefined ? '–' : found.toFixed(0)
}

const columns: readonly (readonly [string, (figures: Figures) => string | number])[] = [
  ['times', ({ troubles, returns }) => troubles + returns],
  ['steps held then', ({ held }) => held],
  ['turns', ({ turns }) => turns],
  ['replies', ({ replies }) => replies],
  ['doubled, misplaced', ({ wrong }) => wrong.length],
  ['open at the end', ({ open }) => open.length],
  ['parked', ({ parked }) => parked],
  ['model calls', ({ calls }) => calls],
  ['wasted', ({ wasted }) => wasted],
  ['second attempts', ({ claims }) => claims.filter(({ attempt }) => attempt > 1).length],
  ['taken over', ({ takenOver }) => takenOver],
  ['after ms, p50', ({ takeovers }) => at(takeovers, 0.5)],
  ['max', ({ takeovers }) => at(takeovers, 1)],
  ['two at once', ({ overlaps }) => overlaps.length],
  ['turn ms, p50', ({ waits }) => at(waits, 0.5)],
  ['p99', ({ waits }) => at(waits, 0.99)],
  ['seconds', ({ seconds }) => seconds.toFixed(0)],
]

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |\n`

/** The figures of scenes, in Markdown. */
export const table = async (results: ReadonlyMap<string, Promise<Figures>>): Promise<string> => {
  const rows: string[] = []
  for (const [name, promise] of results) {
    const figures = await promise.catch(() => undefined)
    rows.push(row([name, ...columns.map(([, cell]) => (figures ? cell(figures) : 'failed'))]))
  }
  return [
    row(['', ...columns.map(([title]) => title)]),
    row(['---', ...columns.map(() => '--:')]),
    ...rows,
  ].join('')
}
