import * as E from 'fp-ts/lib/Either.js'
import { manageContext } from '../../agent/context/policy/policy.ts'
import { countTokens } from '../../agent/context/tokens/tokens.ts'
import { configurationOf, configured, type Effective } from '../../projections/effective.ts'
import { costOf, priceOf, type Prices } from '../../agent/turn/spending/prices.ts'
import { countsIn, inputOf, noUsage } from '../../agent/turn/spending/usage.ts'
import type { ModelCall } from '../../agent/receipts/calls.ts'
import type { ResolvedTurnOptions } from '../../agent/turn/options.ts'

/** What sampling would send. */
export interface SamplePlan {
  /** Requests; those of a free run are at least so many. */
  readonly requests: number
  readonly isFree: boolean
  /** Tokens of all of them together, estimated: of input, and of output, as much as the recorded reply had in each. */
  readonly tokens: number
  readonly output: number
  /** US dollars at the most, as if nothing were read from the cache; absent if a model has no price. */
  readonly usd?: number
}

/** @param samples how many of each kind */
export const planOf = (
  now: Effective,
  { origin }: ModelCall,
  settled: ResolvedTurnOptions,
  { samples, free, prices }: { readonly samples: number; readonly free: boolean; readonly prices: Prices },
): SamplePlan => {
  const counts = countsIn(origin.usage)
  const recorded = inputOf(counts) || countTokens(now).total
  const own = countTokens(configured(now, now.at, { ...configurationOf(now), ...settled.wanted })).total
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
