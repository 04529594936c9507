import * as E from 'fp-ts/lib/Either.js'
import type { ModelUsage, TurnUsage } from './account.ts'
import { priceOf, type Prices } from './prices.ts'
import { tokensOfUsage } from './usage.ts'

/**
 * What a turn may come to, counted from the user's last message, however often `turn` is called for it. No call of a model begins once
 * it is spent; the last call may exceed it.
 */
export interface Budget {
  /** Replies, calls for summaries, and calls that failed. */
  readonly calls?: number | undefined
  /** Input, cached or not, and output. */
  readonly tokens?: number | undefined
  /** US dollars, by the `prices`. */
  readonly usd?: number | undefined
}

/** The budget of the turn is spent. All of it is recorded; a message of the user, or a larger budget, continues. */
export interface BudgetSpent {
  readonly _tag: 'BudgetSpent'
  readonly message: string
  readonly conversation: string
  readonly budget: Budget
  /** What of it is spent. */
  readonly of: keyof Budget
  /** What the turn came to. */
  readonly usage: TurnUsage
}

/** There is a budget in US dollars, and no price for a model. Nothing was sent. */
export interface PriceMissing {
  readonly _tag: 'PriceMissing'
  readonly message: string
  readonly models: readonly string[]
}

/** What counts against a budget. Without a price, nobody knows that there is any money left. */
const amountsIn = (usage: ModelUsage) => ({
  calls: usage.calls,
  tokens: tokensOfUsage(usage),
  usd: usage.usd ?? Infinity,
})

/** What of a budget is spent, if anything is. */
export const spentOf = (budget: Budget, usage: ModelUsage): keyof Budget | undefined => {
  const amounts = amountsIn(usage)
  return (['calls', 'tokens', 'usd'] as const).find((kind) => {
    const most = budget[kind]
    return most !== undefined && amounts[kind] >= most
  })
}

/** Whether another call of a model may begin. */
export const withinBudget = (
  conversation: string,
  budget: Budget,
  usage: TurnUsage,
): E.Either<BudgetSpent | PriceMissing, void> => {
  const { models, usd } = usage
  if (budget.usd !== undefined && usd === undefined)
    return E.left(priceMissing(Object.keys(models).filter((model) => models[model]?.usd === undefined)))
  const of = spentOf(budget, usage)
  if (!of) return E.right(undefined)
  const { estimated } = usage
  const guessed =
    of !== 'calls' && estimated !== undefined
      ? ` (with ${estimated} tokens by our estimate, as the endpoint reported none)`
      : ''
  const message = `this turn of ${conversation} has spent ${amountsIn(usage)[of]} of ${budget[of]} ${of}${guessed}: raise the budget and call turn again to continue, or append what the user says next, which begins a new one`
  return E.left({ _tag: 'BudgetSpent', message, conversation, budget, of, usage })
}

/** Whether the models that will be called have a price, if there is a budget that needs one. */
export const isPriced = (
  { usd }: Budget,
  prices: Prices,
  models: readonly string[],
): E.Either<PriceMissing, void> => {
  const missing = usd === undefined ? [] : models.filter((model) => !priceOf(prices, model))
  return missing.length > 0 ? E.left(priceMissing(missing)) : E.right(undefined)
}

const priceMissing = (models: readonly string[]): PriceMissing => ({
  _tag: 'PriceMissing',
  message: `a budget in usd needs the price of every model, and ${models.join(', ')} has none: add it to prices, or give the budget in tokens`,
  models,
})
