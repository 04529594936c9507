import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import type { AnswerTerms } from '../../events/events.ts'
import type { OpenStepInfo, Roster, Store, WorkerInfo } from '../../index.ts'
import { type Output, outputOn, type Screen } from '../output.ts'
import { shortIds } from '../short-ids.ts'
import { ageText, plural, widthOf } from '../text.ts'
import { termsColumns } from './answer-terms.ts'
import { writeTable } from './table.ts'

const recently = 10 * 60 * 1_000

/**
 * Summarizes a roster: the workers, and the number of steps in each state. Unless `isAll`, omits workers without steps whose last
 * report is over ten minutes old.
 */
export const summaryOf = ({ workers, steps }: Roster, isAll: boolean) => {
  const count = (state: OpenStepInfo['state']): number => steps.filter((step) => step.state === state).length
  const oldest = steps.find(({ state }) => state === 'open')?.since
  return {
    workers: workers.filter(
      (one) => isAll || one.steps.length > 0 || Date.now() - Date.parse(one.heard) < recently,
    ),
    open: count('open'),
    claimed: count('claimed'),
    waiting: count('waiting'),
    parked: count('parked'),
    ...(oldest !== undefined && { oldestOpen: oldest }),
  }
}
type Summary = ReturnType<typeof summaryOf>

const headings = ['worker', 'slots', 'heard', 'conversation', 'attempt', 'for']

const rowsOf = (
  { worker, slots, paused, heard, steps }: WorkerInfo,
  isTerminal: boolean,
  termsOf: (step: AnswerTerms) => readonly string[],
): readonly (readonly string[])[] => {
  const shown = isTerminal ? ageText : String
  const own = [worker, `${steps.length}/${slots ?? '?'}${paused ? ' (paused)' : ''}`, shown(heard)]
  const [first, ...others] = steps.map((step) => [
    step.conversation,
    ...termsOf(step),
    String(step.attempt),
    shown(step.since),
  ])
  // In a pipe, each line is complete.
  const again = isTerminal ? own.map(() => '') : own
  return [[...own, ...(first ?? ['', ...termsOf({}), '', ''])], ...others.map((step) => [...again, ...step])]
}

export const writeRoster = async (out: Output, summary: Summary, rate?: number): Promise<void> => {
  const { workers, open, claimed, waiting, parked, oldestOpen } = summary
  // Programs that read the lines of a pipe rely on their columns.
  const terms = termsColumns(out.isTerminal ? workers.flatMap(({ steps }) => steps) : [])
  const short = shortIds(out.isTerminal ? workers.map(({ worker }) => worker) : [])
  const rows = workers.flatMap(({ worker, ...its }) =>
    rowsOf({ ...its, worker: short.get(worker) ?? worker }, out.isTerminal, terms.texts),
  )
  const all = headings.toSpliced(4, 0, ...terms.headings)
  if (rows.length > 0) await writeTable(out, all, rows, [4 + terms.headings.length])
  const oldest = oldestOpen === undefined ? '' : ` (oldest: ${ageText(oldestOpen)})`
  const each = rate === undefined ? '' : `, ${rate.toFixed(1)} steps/s`
  await out.aside([
    `${plural(workers.length, 'worker')}${each}; ${open} open${oldest}, ${claimed} claimed, ${waiting} waiting, ${parked} parked`,
    'dim',
  ])
}

const second = 1_000

/** Shows the workers and their steps, redrawn in place every second until the signal aborts. */
export const watchRosters = async (
  store: Store,
  stdout: Screen,
  { isAll, signal }: { readonly isAll: boolean; readonly signal: AbortSignal },
): Promise<void> => {
  let drawn: readonly string[] = []
  let before: { readonly claims: number; readonly at: number } | undefined
  for await (const roster of store.workers({ every: second, signal })) {
    const [claims, at] = [roster.claims, performance.now()]
    const rate = before && ((claims - before.claims) * second) / (at - before.at)
    before = { claims, at }
    const lines = await linesDrawn(stdout, (out) => writeRoster(out, summaryOf(roster, isAll), rate))
    // A terminal of unknown size reports 0 rows.
    const fitting = fittingIn((stdout.rows || Infinity) - 1, lines, stdout.columns)
    // The terminal may have become narrower, and wraps what was drawn.
    const up = rowsTaken(drawn, stdout.columns)
    stdout.write(`${up > 0 ? `\u001b[${up}A` : ''}\u001b[J${fitting.join('')}`)
    drawn = fitting
  }
}

/** Returns the number of rows that lines take on a terminal, which wraps those that are wider than it is. */
const rowsTaken = (lines: readonly string[], columns = Infinity): number =>
  lines.reduce((sum, line) => {
    const width = widthOf(stripVTControlCharacters(line.trimEnd()))
    // A terminal of unknown size reports 0 columns.
    return sum + Math.max(1, Math.ceil(width / (columns || Infinity)))
  }, 0)

/**
 * Fits lines into a number of rows, because lines that have scrolled off the screen cannot be redrawn. If there are too many lines,
 * keeps the first ones and the last one.
 */
const fittingIn = (rows: number, lines: readonly string[], columns?: number): readonly string[] => {
  if (rowsTaken(lines, columns) <= Math.max(2, rows)) return lines
  const left = rows - 1 - rowsTaken(lines.slice(-1), columns)
  let shown = 1
  while (rowsTaken(lines.slice(0, shown + 1), columns) <= left) shown++
  return [...lines.slice(0, shown), `… ${lines.length - shown - 1} more\n`, ...lines.slice(-1)]
}

/** Returns the lines that `draw` writes to a terminal as wide as the given one. */
const linesDrawn = async (
  { columns }: Screen,
  draw: (out: Output) => Promise<void>,
): Promise<readonly string[]> => {
  let text = ''
  const write = (chunk: Buffer, _: string, done: () => void): void => {
    text += chunk.toString()
    done()
  }
  await draw(outputOn(Object.assign(new Writable({ write }), { isTTY: true, columns: columns ?? 80 })))
  return text.split(/(?<=\n)/)
}
