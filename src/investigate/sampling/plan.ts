import * as E from 'fp-ts/lib/Either.js'
import { manageContext } from '../../agent/context/policy/policy.ts'
import { countTokens } from '../../agent/context/tokens/tokens.ts'
import { configurationOf, configure, type Effective } from '../../projections/effective.ts'
import { costOf, priceOf, type Prices } from '../../agent/models/prices.ts'
import { countsIn, inputOf, noUsage } from '../../agent/models/usage.ts'
import type { ModelCall } from '../../agent/receipts/calls.ts'
import type { ResolvedTurnOptions } from '../../agent/turn/options.ts'

/** Estimate of the requests that sampling would send. */
export interface SamplePlan {
  /** Number of requests; in a free run, the minimum. */
  readonly requests: number
  readonly isFree: boolean
  /** Estimated input tokens of all requests, and output tokens, assuming the recorded reply's output for each. */
  readonly tokens: number
  readonly output: number
  /** Maximum cost in US dollars, assuming that nothing is read from the cache; absent if a model has no price. */
  readonly usd?: number
}

/**
 * Estimates the requests that sampling would send.
 *
 * @param samples number of samples of each kind
 */
export const planOf = (
  now: Effective,
  { origin }: ModelCall,
  settled: ResolvedTurnOptions,
  { samples, free, prices }: { readonly samples: number; readonly free: boolean; readonly prices: Prices },
): SamplePlan => {
  const counts = countsIn(origin.usage)
  const recorded = inputOf(counts) || countTokens(now).total
  const own = countTokens(configure(now, now.at, { ...configurationOf(now), ...settled.wanted })).total
  const canCondense = settled.summarizer !== undefined
  const fitting = manageContext(now, settled.context, { canCondense })
  const isSummarized = E.isRight(fitting) && fitting.right.type === 'condense'
  const each = [
    { model: settled.wanted.model, tokens: own },
    ...(isSummarized ? [{ model: settled.wanted.model, tokens: own }] : []),
    ...(free ? [] : [{ model: configurationOf(now).model ?? origin.model, tokens: recorded }]),
  ]
  const costs = each.map(({ model = '', tokens }) => {
    const price = priceOf(prices, model)
    const { output } = counts
    return price && costOf({ ...noUsage, cacheWrite1h: 0, cacheWrite: tokens, output }, price)
  })
  const sum = (all: readonly number[]): number => samples * all.reduce((total, one) => total + one, 0)
  const known = costs.flatMap((usd) => usd ?? [])
  return {
    requests: samples * each.length,
    isFree: free,
    tokens: sum(each.map(({ tokens }) => tokens)),
    output: sum(each.map(() => counts.output)),
    ...(known.length === costs.length && { usd: sum(known) }),
  }
}
