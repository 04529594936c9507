import { costOf, isTierPriced, lacksOf, priceOf, type Prices } from '../agent/turn/spending/prices.ts'
import { noUsage, sumOf, tokensOfUsage, type Usage, usageOfCounts } from '../agent/turn/spending/usage.ts'
import type { PaidCall } from './paid-calls.ts'
import { isOfProgram } from './replies.ts'

/** Usage and cost of model calls, as far as recorded. */
export interface UsageTotals extends Usage {
  /** Number of replies, requests for summaries, and failed calls. */
  readonly calls: number
  /** Number of failed calls. */
  readonly failed: number
  /** US dollars for the calls whose model has a price. */
  readonly usd: number
  /** Number of calls with recorded tokens whose model has no price: `usd` excludes them. */
  readonly unpriced: number
  /** Number of calls without recorded usage: tokens and `usd` exclude them. */
  readonly uncounted: number
  /** Number of counted calls that cost more: `usd` or `output` lacks part of each. */
  readonly understated: number
  /** Parts missing from the understated and the unpriced calls, with the number of calls: `{ 'speed: fast': 2, 'output tokens': 57 }`. */
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
  // No model answers without tokens: the program gave up before it was told of any. What a program says is free.
  const isUntold = isFree && kind !== 'failed' && !isOfProgram({ model })
  if (!counts || isUntold) return { ...nothingSpent, calls, failed, uncounted: calls }
  const isPriced = isFree || (price !== undefined && isTierPriced(counts.terms?.tier, model))
  const lacks = [
    ...lacksOf(counts, model),
    ...(price || isFree ? [] : [`price of ${model ?? 'one that is not recorded'}`]),
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
 * True if a reply is longer than its recorded output allows: some programs record the usage reported at the start of a stream.
 * Estimates are up to twice the API's counts.
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

/** Calls of a tool, with their share of the replies that make them. */
export interface ToolUsage extends Usage {
  /** Number of calls of the tool; 0 for the entry of everything else, such as replies without calls. */
  readonly uses: number
  readonly usd: number
}

export const nothingOnTools: ToolUsage = { ...noUsage, uses: 0, usd: 0 }

export const sumOnTools = (one: ToolUsage, other: ToolUsage): ToolUsage => ({
  ...sumOf(one, other),
  uses: one.uses + other.uses,
  usd: one.usd + other.usd,
})

/** Divides usage into equal shares. Tokens stay whole: if they do not divide evenly, the first shares get one more. */
export const sharesOf = (spent: UsageTotals, shares: number): readonly ToolUsage[] =>
  Array.from({ length: shares }, (_, index) => {
    const share = (tokens: number): number => Math.floor((tokens + shares - 1 - index) / shares)
    const { input, cacheRead, cacheWrite, output, usd } = spent
    return {
      input: share(input),
      cacheRead: share(cacheRead),
      cacheWrite: share(cacheWrite),
      output: share(output),
      uses: 1,
      usd: usd / shares,
    }
  })
