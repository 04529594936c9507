import { costOf, isTierPriced, lacksOf, priceOf, type Prices } from '../agent/turn/spending/prices.ts'
import { noUsage, sumOf, tokensOfUsage, type Usage, usageOfCounts } from '../agent/turn/spending/usage.ts'
import type { PaidCall } from './paid.ts'
import { isOfProgram } from './replies.ts'

/** What calls of models came to, as far as that is known. */
export interface UsageTotals extends Usage {
  /** Replies, requests for summaries, and calls that failed. */
  readonly calls: number
  /** How many of them failed. */
  readonly failed: number
  /** US dollars of the calls whose model has a price. */
  readonly usd: number
  /** Calls of which tokens are recorded, and whose model has no price: `usd` lacks them. */
  readonly unpriced: number
  /** Calls without recorded usage: tokens and `usd` lack them. */
  readonly uncounted: number
  /** Calls that are counted and cost more: `usd` or `output` lack a part of each. */
  readonly understated: number
  /** What these and the unpriced lack, and how many calls each: `{ 'speed: fast': 2, 'output tokens': 57 }`. */
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

export const spentOn = ({ kind, calls, model, counts, said = 0 }: PaidCall, prices: Prices): UsageTotals => {
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
 * Tells a reply that says more than its recorded output can be: programs record the usage that a stream begins with. Estimates are up to
 * twice what the API counts.
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

/** Calls of a tool, with the share that they have in the replies which make them. */
export interface ToolUsage extends Usage {
  /** How often the tool was called; for the replies that call none, and all else, 0. */
  readonly uses: number
  readonly usd: number
}

export const nothingOnTools: ToolUsage = { ...noUsage, uses: 0, usd: 0 }

export const sumOnTools = (one: ToolUsage, other: ToolUsage): ToolUsage => ({
  ...sumOf(one, other),
  uses: one.uses + other.uses,
  usd: one.usd + other.usd,
})

/** What was spent, in so many equal shares; tokens stay whole, the first shares have one more where they must. */
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
