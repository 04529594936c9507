import { costOf, isTierPriced, lacksOf, priceOf, type Prices } from '../../models/prices.ts'
import { noUsage, sumOf, tokensOfUsage, type Usage, usageOfCounts } from '../../models/usage.ts'
import { isOfProgram, type PaidCall } from './paid-call.ts'

/** Usage and cost of model calls, based on the recorded data. */
export interface UsageTotals extends Usage {
  /** Number of requests for replies and summaries, including failed calls. */
  readonly calls: number
  /** Number of failed calls. */
  readonly failed: number
  /** Cost in US dollars of the calls whose model has a price. */
  readonly usd: number
  /** Number of calls with recorded tokens whose model has no price. `usd` excludes these calls. */
  readonly unpriced: number
  /** Number of calls without recorded usage. Token counts and `usd` exclude these calls. */
  readonly uncounted: number
  /** Number of counted calls whose `usd` or `output` is too low because some data is missing. */
  readonly understated: number
  /** Data missing for understated and unpriced calls, with the number of calls: `{ 'speed: fast': 2, 'output tokens': 57 }`. */
  readonly lacks: Readonly<Record<string, number>>
}

export const nothingSpent: UsageTotals = {
  ...noUsage,
  calls: 0,
  failed: 0,
  usd: 0,
  unpriced: 0,
  uncounted: 0,
  understated: 0,
  lacks: {},
}

export const totalsOf = ({ kind, calls, model, counts, said = 0 }: PaidCall, prices: Prices): UsageTotals => {
  const failed = kind === 'failed' ? calls : 0
  const price = model === undefined ? undefined : priceOf(prices, model)
  const isFree = counts !== undefined && tokensOfUsage(counts) === 0
  // A model's answer always has tokens: without any, the program stopped before the usage arrived. A program's own replies are free.
  const isUntold = isFree && kind !== 'failed' && !isOfProgram({ model })
  if (!counts || isUntold) return { ...nothingSpent, calls, failed, uncounted: calls }
  const isPriced = isFree || (price !== undefined && isTierPriced(counts.terms?.tier, model))
  const lacks = [
    ...lacksOf(counts, model),
    ...(price || isFree ? [] : [`price of ${model ?? 'an unrecorded model'}`]),
    ...(isFarBelow(counts.output, said) ? ['output tokens'] : []),
  ]
  return {
    ...usageOfCounts(counts),
    calls,
    failed,
    usd: price && isPriced ? costOf(counts, price) : 0,
    unpriced: isPriced ? 0 : calls,
    uncounted: 0,
    understated: isPriced && lacks.length > 0 ? calls : 0,
    lacks: Object.fromEntries(lacks.map((what) => [what, calls])),
  }
}

/**
 * Reports whether a reply's estimated tokens exceed its recorded output by far. Some programs record only the usage reported at the
 * start of a stream. Estimates are up to twice the API's counts.
 */
const isFarBelow = (output: number, said: number): boolean => said > 2.5 * output + 8

export const sumSpent = (all: Iterable<UsageTotals>): UsageTotals => {
  let sum = nothingSpent
  for (const one of all)
    sum = {
      ...sumOf(sum, one),
      calls: sum.calls + one.calls,
      failed: sum.failed + one.failed,
      usd: sum.usd + one.usd,
      unpriced: sum.unpriced + one.unpriced,
      uncounted: sum.uncounted + one.uncounted,
      understated: sum.understated + one.understated,
      lacks: sumOfEach(sum.lacks, one.lacks),
    }
  return sum
}

const sumOfEach = (one: UsageTotals['lacks'], other: UsageTotals['lacks']): UsageTotals['lacks'] => {
  const sum = { ...one }
  for (const [what, calls] of Object.entries(other)) sum[what] = (sum[what] ?? 0) + calls
  return sum
}

/**
 * Totals of the replies that call a tool, each with its share of the usage. A reply that calls several tools is among the `calls`,
 * `failed`, `unpriced`, `uncounted`, `understated` and `lacks` of each.
 */
export interface ToolUsage extends UsageTotals {
  /** Number of calls of the tool; 0 for usage that belongs to no tool, such as replies without calls. */
  readonly uses: number
}

export const nothingOnTools: ToolUsage = { ...nothingSpent, uses: 0 }

export const sumOnTools = (one: ToolUsage, other: ToolUsage): ToolUsage => ({
  ...sumSpent([one, other]),
  uses: one.uses + other.uses,
})

/** Divides usage into equal shares. Token counts stay integers: if they do not divide evenly, the first shares get one token more. */
export const sharesOf = (spent: UsageTotals, shares: number): readonly (Usage & Pick<UsageTotals, 'usd'>)[] =>
  Array.from({ length: shares }, (_, index) => {
    const share = (tokens: number): number => Math.floor((tokens + shares - 1 - index) / shares)
    const { input, cacheRead, cacheWrite, output, usd } = spent
    return {
      input: share(input),
      cacheRead: share(cacheRead),
      cacheWrite: share(cacheWrite),
      output: share(output),
      usd: usd / shares,
    }
  })
