import * as E from 'fp-ts/lib/Either.js'
import type { ModelUsage, TurnUsage } from './account.ts'
import { priceOf, type Prices } from '../../models/prices.ts'
import { tokensOfUsage } from '../../models/usage.ts'

/** Limits on usage since the user's last message. No model call begins once one is reached; the last call may exceed it. */
export interface Budget {
  /** Maximum number of model calls: replies, calls for summaries, and failed calls. */
  readonly calls?: number | undefined
  /** Maximum number of tokens: input, cached or not, and output. */
  readonly tokens?: number | undefined
  /** Maximum cost in US dollars according to `prices`. */
  readonly usd?: number | undefined
}

/** The turn's budget is spent; everything so far is recorded. A larger budget continues the turn; a user message begins a new one. */
export interface BudgetSpent {
  readonly _tag: 'BudgetSpent'
  readonly message: string
  readonly conversation: string
  readonly budget: Budget
  /** The limit that was reached. */
  readonly of: keyof Budget
  /** Usage of the turn. */
  readonly usage: TurnUsage
}

/** The budget is in US dollars, but the price of a model is not known. Nothing was sent. */
export interface PriceMissing {
  readonly _tag: 'PriceMissing'
  readonly message: string
  readonly models: readonly string[]
}

/** Returns the amounts that count against a budget. Without a price, the cost counts as infinite. */
const amountsIn = (usage: ModelUsage) => ({
  calls: usage.calls,
  tokens: tokensOfUsage(usage),
  usd: usage.usd ?? Infinity,
})

/** Returns the first limit of a budget that has been reached; undefined if none has. */
export const limitReached = (budget: Budget, usage: ModelUsage): keyof Budget | undefined => {
  const amounts = amountsIn(usage)
  return (['calls', 'tokens', 'usd'] as const).find((kind) => {
    const most = budget[kind]
    return most !== undefined && amounts[kind] >= most
  })
}

/** Checks that the budget allows another model call. */
export const withinBudget = (
  conversation: string,
  budget: Budget,
  usage: TurnUsage,
): E.Either<BudgetSpent | PriceMissing, void> => {
  const { models, usd } = usage
  if (budget.usd !== undefined && usd === undefined)
    return E.left(priceMissing(Object.keys(models).filter((model) => models[model]?.usd === undefined)))
  const of = limitReached(budget, usage)
  if (!of) return E.right(undefined)
  const { estimated } = usage
  const guessed =
    of !== 'calls' && estimated !== undefined
      ? ` (with ${estimated} tokens by our estimate, as the endpoint reported none)`
      : ''
  const message = `this turn of ${conversation} has spent ${amountsIn(usage)[of]} of ${budget[of]} ${of}${guessed}: raise the budget and call turn again to continue, or append the next user message, which begins a new turn`
  return E.left({ _tag: 'BudgetSpent', message, conversation, budget, of, usage })
}

/** Checks that the models to be called have a price, if the budget requires one. */
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
