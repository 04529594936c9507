import { deathOf, isDeath, maxAttempts } from '../../agent/workers/board/open-step.ts'
import type { AttemptReport, OpenStepInfo } from '../../index.ts'
import { visible } from '../../transfer/formats/visible.ts'
import type { Output } from '../output.ts'
import { cutMiddle, linesOf, type Paint, plural, type TextSpan, widthOf } from '../text.ts'
import type { News } from '../work/life.ts'
import { mostBelow } from './table.ts'

/** Returns what happens next to a step after an attempt; undefined if it needs no explanation. */
const nextPart = ({ conversation, outcome, waitMs }: AttemptReport): string | undefined => {
  if (outcome === 'parked') return `fix the cause; palimpsest retry ${conversation} lets workers try again`
  if (waitMs === undefined) return undefined
  const again = `tried again in ${Math.ceil(waitMs / 1_000)} s`
  return outcome === 'free' ? `not counted as an attempt; ${again}` : again
}

/** Maximum number of steps of a dead process that are shown. A process may have worked on many. */
const mostDeaths = 5

/** A step during which a worker has died; only its conversation if the step is over by now. */
export type DeadStep = Pick<OpenStepInfo, 'conversation'> & Partial<OpenStepInfo>

/**
 * Names steps during which a worker has died, because one of them may kill each worker that tries it.
 *
 * @param worker the worker. Default: the last one that has died during the step
 */
export const writeDeaths = async (
  out: Output,
  steps: readonly DeadStep[],
  worker?: string,
): Promise<void> => {
  const lines: string[] = []
  for (const { conversation, step, errors } of steps) {
    if (errors === undefined) {
      lines.push(`${conversation}  its process died`)
      continue
    }
    // Each attempt leaves an error. The number of attempts may already include the next one.
    const attempt = (worker === undefined ? errors.findLastIndex(isDeath) : deathOf(errors, worker)) + 1
    const deaths = errors.slice(0, attempt).filter(isDeath).length
    const known = `${conversation}  its process died  attempt ${attempt} of ${maxAttempts}, step ${step}`
    // After its last attempt, the step is parked.
    const pause = attempt < maxAttempts ? `, palimpsest pause ${conversation} keeps it from workers` : ''
    const advice = `${deaths} workers died during it: palimpsest log ${conversation} --turns shows it${pause}`
    // The first death may be due to another step of the process.
    lines.push(deaths > 1 ? `${known}; ${advice}` : known)
  }
  const shown = lines.slice(0, mostDeaths)
  for (const line of shown) await writeBelow(out, line, 'warning')
  if (lines.length > shown.length)
    await writeBelow(
      out,
      `and ${plural(lines.length - shown.length, 'further step')}: palimpsest steps lists them`,
    )
}

/** Names steps during which workers of earlier processes have died, below the error that says how each has ended. */
export const writeEarlierDeaths = async (out: Output, steps: readonly OpenStepInfo[]): Promise<void> => {
  for (const [death = '', during] of Map.groupBy(steps, ({ errors }) => errors.findLast(isDeath))) {
    await out.line([death, 'warning'])
    await writeDeaths(out, during)
  }
}

/** Writes a text on a line of its own, or on a terminal on as many as it takes, as it says what happens next. */
const writeBelow = async (out: Output, text: string, paint: Paint = 'dim'): Promise<void> => {
  for (const line of out.columns < Infinity ? linesOf(text, out.columns - 2) : [text])
    await out.line([`  ${line}`, paint])
}

/** Writes a line about the processes of workers, or about an attempt. */
export const writeNews = async (out: Output, news: News): Promise<void> =>
  news.type === 'step' ? writeAttempt(out, news) : out.line(...newsParts(news))

/** Writes a line about an attempt. If it does not fit into the terminal, the error and what happens next follow below it. */
export const writeAttempt = async (out: Output, report: AttemptReport): Promise<void> => {
  const parts = attemptParts(report)
  const [conversation, outcome, text, error, next] = parts
  const width = parts.reduce((sum, [each]) => sum + widthOf(visible(each)), 0)
  if (width <= out.columns || !conversation || !outcome || !text) return out.parts(parts)
  await out.line(conversation, outcome, text)
  if (error?.[0])
    await writeBelow(out, cutMiddle(visible(error[0].trim()), mostBelow * out.columns), 'warning')
  if (next?.[0]) await writeBelow(out, next[0].trim().slice(1, -1))
}

const attemptParts = (report: AttemptReport): readonly TextSpan[] => {
  const { conversation, outcome, attempt, ms, error } = report
  const text = `  attempt ${attempt}  ${Math.round(ms)} ms`
  const next = nextPart(report)
  return [
    [conversation, 'bold', 'whole'],
    [`  ${outcome}`, outcome === 'failed' || outcome === 'parked' ? 'warning' : 'assistant'],
    [text],
    [error ? `  ${error}` : ''],
    [next ? `  (${next})` : '', 'dim'],
  ]
}

const newsParts = (news: Exclude<News, { readonly type: 'step' }>): readonly TextSpan[] => {
  if (news.type === 'started') return [[`${news.worker} started, process ${news.pid}`, 'dim']]
  if (news.type === 'spare') return [[`${news.worker} stands by, process ${news.pid}`, 'dim']]
  const { worker, by, restartIn, error } = news
  const early = worker === undefined && error === undefined ? ' before its agent was loaded' : ''
  const how = `${typeof by === 'number' ? `ended (exit code ${by})` : `was killed (${by})`}${early}`
  const next =
    restartIn === 0 ? '; the standby takes over' : `; starts again in ${(restartIn ?? 0) / 1_000} s`
  const again = restartIn === undefined ? '' : next
  return [
    [
      `${worker ?? 'a process'} ${how}${again}${error === undefined ? '' : `: ${error}`}`,
      by === 0 && restartIn === undefined ? 'dim' : 'warning',
    ],
  ]
}
