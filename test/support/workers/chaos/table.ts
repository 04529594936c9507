import type { Figures } from './figures.ts'
import type { Dose } from './kept.ts'

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
  ['doubled, misplaced, effects twice', ({ wrong }) => wrong.length],
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
  ['first claim after ms, p50', ({ starts }) => at(starts, 0.5)],
  ['max', ({ starts }) => at(starts, 1)],
  ['all answered after s', ({ answeredAfter }) => (answeredAfter / 1_000).toFixed(1)],
  ['seconds', ({ seconds }) => seconds.toFixed(0)],
]

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |\n`

/** What is said when a scene is over. */
export const progressOf = (name: string, outcome: PromiseSettledResult<Figures>): string => {
  if (outcome.status === 'rejected') return `${name}: failed\n`
  const { seconds, turns, wrong, open, troubles, returns } = outcome.value
  const found = `${wrong.length} wrong, ${open.length} open`
  return `${name}: ${seconds.toFixed(0)} s, ${troubles + returns} faults, ${turns} turns, ${found}\n`
}

/** How much longer the other messages wait where there is poison among them, if both scenes came to an end. */
const delayedIn = (all: ReadonlyMap<string, Figures>): string => {
  const [poisoned, without] = [all.get('C7 EventStoreDB'), all.get('C7 without poison')]
  if (!poisoned || !without) return ''
  const ratio = poisoned.answeredAfter / without.answeredAfter
  return `\nC7: with poison, the other messages were answered after ${ratio.toFixed(2)} times the time that it takes without.\n`
}

/** What each scene came to, or why it failed. */
const ended = (results: ReadonlyMap<string, Promise<Figures>>) =>
  Promise.all(
    [...results].map(
      async ([name, promise]) => [name, await promise.catch((error: unknown) => ({ error }))] as const,
    ),
  )

/** The figures of scenes, in Markdown. */
export const table = async (results: ReadonlyMap<string, Promise<Figures>>): Promise<string> => {
  const rows: string[] = []
  const came = new Map<string, Figures>()
  for (const [name, figures] of await ended(results)) {
    if (!('error' in figures)) came.set(name, figures)
    rows.push(row([name, ...columns.map(([, cell]) => ('error' in figures ? 'failed' : cell(figures)))]))
  }
  return [
    row(['', ...columns.map(([title]) => title)]),
    row(['---', ...columns.map(() => '--:')]),
    ...rows,
    delayedIn(came),
  ].join('')
}

/** What all scenes came to. One that failed counts as wrong. */
export const sumOf = async (
  results: ReadonlyMap<string, Promise<Figures>>,
): Promise<Omit<Dose, 'date' | 'orders'>> => {
  const sum = { scenes: results.size, faults: 0, replies: 0, wrong: [] as string[] }
  for (const [name, figures] of await ended(results)) {
    if ('error' in figures) {
      sum.wrong.push(`${name}: ${String(figures.error)}`)
      continue
    }
    sum.faults += figures.troubles + figures.returns
    sum.replies += figures.replies
    sum.wrong.push(...[...figures.wrong, ...figures.open].map((what) => `${name}: ${what}`))
  }
  return sum
}
