import { z } from 'zod'
import type { Conversation } from '../api/promises.ts'
import { limitsOf } from '../agent/context/policy/settings.ts'
import { check } from '../events/check.ts'
import { orThrow } from '../result/fallible.ts'
import { prices as listPrices, type Prices, pricesSchema } from '../agent/models/prices.ts'
import { packedLogOf } from './packed-log.ts'
import { type ReplayReport, replayLog } from './replay-log.ts'
import { policySchema, type ReplayPolicy } from './replay-policy.ts'

/** Options for `replay`. */
export interface ReplayOptions {
  /** Policy to replay. Default: the policy recorded by the markers, with the recorded summaries. */
  readonly policy?: ReplayPolicy | undefined
  /** Prices that extend or override the built-in table, as in the options of a turn. */
  readonly prices?: Prices | undefined
}

const optionsSchema = z.strictObject({ policy: policySchema.optional(), prices: pricesSchema.optional() })

/**
 * Computes the requests that another policy would have sent, without calling a model: their tokens, cache reads, costs, and the hidden
 * terms that the recorded answers contain. Reads the whole log.
 *
 * Rejects with `InvalidInput`, `ConversationNotFound` or another `ReadError`.
 *
 * @example
 * import { replay } from 'palimpsest/investigate'
 *
 * const { total } = await replay(store.conversation('task-42'), { policy: { context: { window: 50_000 }, mode: 'truncate' } })
 * console.log(total.tokens, total.truncated, total.needed)
 */
export const replay = async (
  chat: Pick<Conversation, 'id' | 'events'>,
  options: ReplayOptions = {},
): Promise<ReplayReport> => {
  await orThrow(check(optionsSchema, options))
  if (options.policy) await orThrow(limitsOf(options.policy.context, undefined))
  return replayLog(chat.id, await packedLogOf(chat), options.policy, { ...listPrices, ...options.prices })
}
