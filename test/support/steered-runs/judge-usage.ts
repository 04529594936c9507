import { expect } from 'vitest'
import type { ApiMessage } from '../../../src/testing/messages-api/replies.ts'
import { totals, type Stored } from './judge.ts'
import { blocksIn, isAssistant, type Raw, saidIn } from './raw-log.ts'
import type { Observed, Ran } from './run.ts'

interface Sum {
  readonly calls: number
  readonly input: number
  readonly output: number
}
type Usage = Readonly<Record<string, unknown>>
const numberOf = (usage: Usage, field: string): number => Number(usage[field] ?? 0)
const inputOf = (usage: Usage): number =>
  ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'].reduce(
    (sum, field) => sum + numberOf(usage, field),
    0,
  )
const sumOf = (usages: readonly Usage[]): Sum => ({
  calls: usages.length,
  input: usages.reduce((sum, usage) => sum + inputOf(usage), 0),
  output: usages.reduce((sum, usage) => sum + numberOf(usage, 'output_tokens'), 0),
})

/** What the log said of the turn when it was given, and what the stand-in has billed it since. */
export const judgeUsage = (ran: Ran, { requests }: Observed, stored: readonly Stored[]): void => {
  const { outcome, happened, hasMail, isAborted, isDead, isShared, isInterrupted, isCancelled } = ran
  // What happened before its first look is not known to have come before it.
  const isCut = isAborted || isDead || isShared || isInterrupted || isCancelled
  if (!outcome || 'error' in outcome || hasMail || isCut || happened.first > happened.begin) return
  const { usage, calls, retried } = outcome.value
  const before = sumOf(opened(stored.find(({ id }) => id === ran.chat) as Stored, ran.from))
  const own = requests.filter(({ headers }) => ran.sent.has(Number(headers['x-number'])))
  const whole = own.filter((request) => request.status === 200 && request.isComplete())
  const broken = own.filter((request) => request.status === 200 && !request.isComplete())
  const billed = sumOf(
    [...whole, ...broken].map(({ answer }) => (answer as ApiMessage).usage as unknown as Usage),
  )
  const outputs = sumOf(whole.map(({ answer }) => (answer as ApiMessage).usage as unknown as Usage)).output
  totals['usages compared']++
  const told = usage.input + usage.cacheRead + usage.cacheWrite
  expect({ calls: usage.calls, input: told }).toEqual({
    calls: before.calls + own.length,
    input: before.input + billed.input,
  })
  expect(usage.output - before.output).toBeGreaterThanOrEqual(outputs)
  expect(usage.output - before.output).toBeLessThanOrEqual(outputs + broken.length)
  expect(calls).toBeLessThanOrEqual(own.length)
  expect(retried).toBeGreaterThanOrEqual(own.length - whole.length)
}

/** The usages of what the log has since the last message of the user. */
const opened = ({ log, paths }: Stored, from: number): readonly Usage[] => {
  const path = (paths[from - 1] ?? []).map((position) => log[position] as Raw)
  const isSaid = (event: Raw): boolean => event.data['role'] === 'user' && saidIn(blocksIn(event)).length > 0
  return path.slice(path.findLastIndex(isSaid) + 1).flatMap((event): readonly Usage[] => {
    const isSummary = event.type === 'Condensed' && event.data['method'] === 'model'
    if (!isAssistant(event) && !isSummary) return []
    const { usage = {}, failed = [] } = (event.data['origin'] ?? {}) as {
      readonly usage?: Usage
      readonly failed?: readonly { readonly usage?: Usage }[]
    }
    return [usage, ...failed.map((call) => call.usage ?? {})]
  })
}
