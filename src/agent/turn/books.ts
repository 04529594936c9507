import type * as E from 'fp-ts/lib/Either.js'
import type { ConversationHandle } from '../../conversation/conversation.ts'
import type { FailedCall } from '../models/model.ts'
import type { Effective } from '../../projections/effective.ts'
import type { Fallible } from '../../result/fallible.ts'
import type { ReadError } from '../../store/errors.ts'
import { type TurnTotals, emptyAccount, entriesOf, type AccountEntry, withEntry } from './spending/account.ts'
import { type BudgetSpent, type PriceMissing, withinBudget } from './spending/budget.ts'
import type { ResolvedTurnOptions } from './options.ts'
import { sinceUserMessage } from './spending/since.ts'

/** Account of a turn: adds up its usage and checks the budget. */
export interface Books {
  /** Adds the entries that the log contains for this turn, including entries by earlier holders of the conversation. */
  readonly open: (now: Effective) => Fallible<ReadError, void>
  readonly add: (entry: AccountEntry) => void
  /** Returns the account, including failed calls that are not recorded yet. */
  readonly account: () => TurnTotals
  /** Checks that the budget allows another model call after these failed ones. */
  readonly within: (failed?: readonly FailedCall[]) => E.Either<BudgetSpent | PriceMissing, void>
}

/**
 * @param settings settings of the next call
 * @param unrecorded failed calls that are not recorded yet
 */
export const books = (
  chat: ConversationHandle,
  settings: () => ResolvedTurnOptions,
  unrecorded: () => readonly FailedCall[],
): Books => {
  let kept = emptyAccount
  const withMore = (entry: AccountEntry): TurnTotals => {
    const { prices, wanted } = settings()
    return withEntry(kept, entry, { prices, model: wanted.model ?? '' })
  }
  const add = (entry: AccountEntry): void => {
    kept = withMore(entry)
  }
  const withFailed = (more: readonly FailedCall[]): TurnTotals =>
    withMore({ type: 'failed', calls: [...unrecorded(), ...more] })
  return {
    open: async function* (now): Fallible<ReadError, void> {
      for (const entry of entriesOf(yield* sinceUserMessage(chat, now))) add(entry)
    },
    add,
    account: () => withFailed([]),
    within: (failed = []) => withinBudget(chat.id, settings().budget, withFailed(failed).usage),
  }
}
