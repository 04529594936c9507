import type { ConversationEvent, Origin } from '../../../events/events.ts'
import { failedIn } from '../../models/asking.ts'
import type { FailedCall } from '../../models/model.ts'
import { isSameReply } from '../../context/tokens/usage.ts'
import { receiptsOfSummary } from '../../receipts/summary-request.ts'
import { costOf, priceOf, type Prices } from './prices.ts'
import { countsIn, noUsage, sumOf, tokensOfUsage, type Usage } from './usage.ts'

/** What calls of a model came to. */
export interface ModelUsage extends Usage {
  /** Replies, calls for summaries, and calls that failed. */
  readonly calls: number
  /** US dollars, by the `prices`; absent if a price is missing. */
  readonly usd?: number
  /** Of these tokens, those that were estimated, as the endpoint reported none; absent if none were. */
  readonly estimated?: number
}
/** What a turn came to so far. */
export interface TurnUsage extends ModelUsage {
  readonly models: { readonly [model: string]: ModelUsage }
}

/** What has come of a turn since the message of the user that began it. */
export interface TurnTotals {
  readonly usage: TurnUsage
  readonly replies: number
  /** How often the context was condensed and truncated, and how many calls of a model failed. */
  readonly condensed: number
  readonly truncated: number
  readonly retried: number
}

/** What changes an account. */
export type AccountEntry =
  | { readonly type: 'reply'; readonly origin: Origin }
  | { readonly type: 'condensed'; readonly origin?: Origin | undefined }
  | { readonly type: 'truncated' }
  | { readonly type: 'failed'; readonly calls: readonly FailedCall[] }

/** The names of models and their prices; `model` is that of calls which do not say theirs. */
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
      return withCalls({ ...account, replies: account.replies + 1 }, entry.origin, 1, book)
    case 'condensed': {
      const { origin } = entry
      const condensed = { ...account, condensed: account.condensed + 1 }
      return origin ? withCalls(condensed, origin, callsFor(origin), book) : condensed
    }
    case 'truncated':
      return { ...account, truncated: account.truncated + 1 }
    case 'failed':
      return entry.calls.reduce((sum, call) => withFailed(sum, call, book), account)
  }
}

/** A summary in parts took several calls. */
const callsFor = ({ context }: Origin): number => (context ? receiptsOfSummary(context).length : 1)

const withCalls = (account: TurnTotals, origin: Origin, calls: number, book: Book): TurnTotals => {
  const before = failedIn(origin).reduce((sum, call) => withFailed(sum, call, book), account)
  return { ...before, usage: withUsage(before.usage, { ...origin, calls }, book) }
}

const withFailed = (account: TurnTotals, { model, usage }: FailedCall, book: Book): TurnTotals => ({
  ...account,
  retried: account.retried + 1,
  usage: withUsage(account.usage, { model, usage, calls: 1 }, book),
})

interface Called {
  readonly model?: string | undefined
  readonly usage?: Origin['usage']
  readonly estimated?: Origin['estimated']
  readonly calls: number
}

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
    ...estimatedIn(one.estimated, tokensOfUsage(guessed)),
  })
  return { ...more(sum), models: { ...sum.models, [model]: more(sum.models[model] ?? nothing) } }
}

/** The sum of tokens that were estimated, if there are any. */
export const estimatedIn = (one = 0, more = 0): Pick<ModelUsage, 'estimated'> =>
  one + more > 0 ? { estimated: one + more } : {}

/** What the events of a path, oldest first, have added to the account of its turn. */
export const entriesOf = (path: readonly ConversationEvent[]): readonly AccountEntry[] =>
  path.flatMap((event, index): readonly AccountEntry[] => {
    if (event.type === 'MessageAppended' && event.data.role === 'assistant') {
      const { origin = {} } = event.data
      // An import may have stored a reply in parts, each with the usage of all.
      return isPart(event.data, path[index + 1]) ? [] : [{ type: 'reply', origin }]
    }
    if (event.type === 'Truncated' && event.data.policy) return [{ type: 'truncated' }]
    // The call that a provider's compaction came of is the reply's.
    if (event.type === 'Condensed' && event.data.method === 'provider') return [{ type: 'condensed' }]
    if (event.type === 'Condensed' && event.data.method === 'model')
      return [{ type: 'condensed', origin: event.data.origin }]
    return []
  })

const isPart = (
  reply: ConversationEvent<'MessageAppended'>['data'],
  next: ConversationEvent | undefined,
): boolean => next?.type === 'MessageAppended' && isSameReply(reply, next.data)
