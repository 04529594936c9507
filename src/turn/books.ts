import type * as E from 'fp-ts/lib/Either.js'
import type { Conversation } from '../conversation/conversation.ts'
import type { FailedCall } from '../models/model.ts'
import type { Effective } from '../projections/effective.ts'
import type { Steps } from '../result/steps.ts'
import type { ReadError } from '../store/errors.ts'
import { type Account, emptyAccount, entriesOf, type Entry, withEntry } from './account.ts'
import { type BudgetSpent, type PriceMissing, withinBudget } from './budget.ts'
import type { Settled } from './options.ts'
import { sinceUserMessage } from './since.ts'

/** Keeps the account of a turn. */
export interface Books {
  /** Takes in what the log says of the turn: whoever gave it before. */
  readonly open: (now: Effective) => Steps<ReadError, void>
  readonly add: (entry: Entry) => void
  /** The account, with calls that failed and are not recorded yet. */
  readonly account: (unrecorded?: readonly FailedCall[]) => Account
  /** Whether another call of the model may begin. */
  readonly within: (unrecorded?: readonly FailedCall[]) => E.Either<BudgetSpent | PriceMissing, void>
}

/** @param settings those of the next call */
export const books = (chat: Conversation, settings: () => Settled): Books => {
  let kept = emptyAccount
  const withMore = (entry: Entry): Account => {
    const { prices, wanted } = settings()
    return withEntry(kept, entry, { prices, model: wanted.model ?? '' })
  }
  const add = (entry: Entry): void => {
    kept = withMore(entry)
  }
  const account = (calls: readonly FailedCall[] = []): Account => withMore({ type: 'failed', calls })
  return {
    open: async function* (now): Steps<ReadError, void> {
      for (const entry of entriesOf(yield* sinceUserMessage(chat, now))) add(entry)
    },
    add,
    account,
    within: (unrecorded) => withinBudget(chat.id, settings().budget, account(unrecorded).usage),
  }
}
