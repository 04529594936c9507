import { z } from 'zod'
import type { Conversation } from '../api/promises.ts'
import { check } from '../events/check.ts'
import { orThrow } from '../result/steps.ts'
import { prices as listPrices, type Prices, pricesSchema } from '../agent/turn/spending/prices.ts'
import { type CacheReport, cacheReport } from './cache.ts'
import { logOf } from './log.ts'

/** How to look at the prompt cache. */
export interface CacheOptions {
  /** As in a turn: prices of models that the table of this version does not have, or to use instead. */
  readonly prices?: Prices | undefined
  /** When the next call would be made. Default: now. */
  readonly now?: Date | undefined
}

const optionsSchema = z.strictObject({ prices: pricesSchema.optional(), now: z.date().optional() })

/**
 * Which calls could not read what the call before had in the prompt cache, why, and the event that caused it; what resuming now would cost;
 * and advice. From receipts and the usage that the API reported. Reads the whole log.
 *
 * Rejects with `ConversationNotFound` or another `ReadError`, or `InvalidInput`.
 *
 * @example
 * import { cache } from 'palimpsest/investigate'
 *
 * const { breaks, resuming } = await cache(store.conversation('task-42'))
 * for (const { position, kind, event, lost } of breaks) console.log(position, kind, event, lost)
 * console.log(resuming?.isWarm, resuming?.usd)
 */
export const cache = async (
  chat: Pick<Conversation, 'id' | 'events'>,
  options: CacheOptions = {},
): Promise<CacheReport> => {
  await orThrow(check(optionsSchema, options))
  const prices = { ...listPrices, ...options.prices }
  return cacheReport(chat.id, await logOf(chat), prices, (options.now ?? new Date()).getTime())
}
