import type { ConversationEvent, Origin } from '../../../events/events.ts'
import { failuresIn } from '../../models/call-model.ts'
import type { FailedCall } from '../../models/model.ts'
import { isSameReply } from '../../models/usage.ts'
import { receiptsOfSummary } from '../../receipts/summary-request.ts'
import { costOf, priceOf, type Prices } from '../../models/prices.ts'
import { countsIn, noUsage, sumOf, tokensOfUsage, type Usage } from '../../models/usage.ts'

/** Tokens, calls and cost of several model calls. */
export interface ModelUsage extends Usage {
  /** Number of model calls: replies, calls for summaries, and failed calls. */
  readonly calls: number
  /** Cost in US dollars according to `prices`; absent if a price is missing. */
  readonly usd?: number
  /** Number of these tokens that were estimated because the endpoint reported none; absent if no tokens were. */
  readonly estimated?: number
}
/** Usage of a turn so far, in total and by model. */
export interface TurnUsage extends ModelUsage {
  readonly models: { readonly [model: string]: ModelUsage }
}

/** Totals of a turn since the user message that began it. */
export interface TurnTotals {
  readonly usage: TurnUsage
  readonly replies: number
  /** Number of condenses. */
  readonly condensed: number
  readonly truncated: number
  readonly retried: number
}

export type AccountEntry =
  | { readonly type: 'reply'; readonly origin: Origin }
  | { readonly type: 'condensed'; readonly origin?: Origin | undefined }
  | { readonly type: 'truncated' }
  | { readonly type: 'failed'; readonly calls: readonly FailedCall[] }

/** Prices by model name, and the model to assume for calls that name no model or an unlisted one. */
interface Book {
  readonly prices: Prices
  readonly model: string
}

const nothing: ModelUsage = { ...noUsage, calls: 0, usd: 0 }

export const emptyAccount: TurnTotals = {
  usage: { ...nothing, models: {} },
  replies: 0,
  condensed: 0,
  truncated: 0,
  retried: 0,
}

export const withEntry = (account: TurnTotals, entry: AccountEntry, book: Book): TurnTotals => {
  switch (entry.type) {
    case 'reply':
      return withCalls({ ...account, replies: account.replies + 1 }, { ...entry.origin, calls: 1 }, book)
    case 'condensed': {
      const { origin } = entry
      const condensed = { ...account, condensed: account.condensed + 1 }
      // A summary made in parts took several calls.
      const calls = origin?.context ? receiptsOfSummary(origin.context).length : 1
      return origin ? withCalls(condensed, { ...origin, calls }, book) : condensed
    }
    case 'truncated':
      return { ...account, truncated: account.truncated + 1 }
    case 'failed':
      return withFailed(account, entry.calls, book)
  }
}

/** Usage of one or several calls of a model. */
type Called = Pick<Origin, 'model' | 'usage' | 'estimated'> & { readonly calls: number }

const withCalls = (account: TurnTotals, called: Called, book: Book): TurnTotals => {
  const before = withFailed(account, failuresIn(called), book)
  return { ...before, usage: withUsage(before.usage, called, book) }
}

const withFailed = (account: TurnTotals, failed: readonly FailedCall[], book: Book): TurnTotals => ({
  ...account,
  retried: account.retried + failed.length,
  usage: failed.reduce((sum, call) => withUsage(sum, { ...call, calls: 1 }, book), account.usage),
})

const withUsage = (
  sum: TurnUsage,
  { model: named, usage, estimated, calls }: Called,
  book: Book,
): TurnUsage => {
  const model = named ?? book.model
  const reported = countsIn(usage)
  const guessed = { ...noUsage, ...estimated }
  const counts = { ...reported, ...sumOf(reported, guessed) }
  const price = priceOf(book.prices, model) ?? priceOf(book.prices, book.model)
  const usd = price ? costOf(counts, price) : tokensOfUsage(counts) === 0 ? 0 : undefined
  const more = (one: ModelUsage): ModelUsage => ({
    ...sumOf(one, counts),
    calls: one.calls + calls,
    ...(one.usd !== undefined && usd !== undefined && { usd: one.usd + usd }),
    ...addEstimates(one.estimated, tokensOfUsage(guessed)),
  })
  return { ...more(sum), models: { ...sum.models, [model]: more(sum.models[model] ?? nothing) } }
}

/** Returns the sum of two numbers of estimated tokens as a field; an empty object if the sum is 0. */
export const addEstimates = (one = 0, more = 0): Pick<ModelUsage, 'estimated'> =>
  one + more > 0 ? { estimated: one + more } : {}

/** Returns the account entries for the events of a path. Both events and entries are in order, oldest first. */
export const entriesOf = (path: readonly ConversationEvent[]): readonly AccountEntry[] =>
  path.flatMap((event, index): readonly AccountEntry[] => {
    if (event.type === 'MessageAppended' && event.data.role === 'assistant') {
      const { origin = {} } = event.data
      const next = path[index + 1]
      // An import may have stored a reply in several messages, each with the usage of the whole reply.
      const isPart = next?.type === 'MessageAppended' && isSameReply(event.data, next.data)
      return isPart ? [] : [{ type: 'reply', origin }]
    }
    if (event.type === 'Truncated' && event.data.policy) return [{ type: 'truncated' }]
    // The call that made a provider's compaction is already counted with its reply.
    if (event.type === 'Condensed' && event.data.method === 'provider') return [{ type: 'condensed' }]
    if (event.type === 'Condensed' && event.data.method === 'model')
      return [{ type: 'condensed', origin: event.data.origin }]
    return []
  })
