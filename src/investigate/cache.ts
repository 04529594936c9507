import { z } from 'zod'
import type { Conversation } from '../api/promises.ts'
import { check } from '../events/check.ts'
import { orThrow } from '../result/fallible.ts'
import { prices as listPrices, type Prices, pricesSchema } from '../agent/models/prices.ts'
import { type CacheReport, cacheReport } from './cache-report.ts'
import { packedLogOf } from './packed-log.ts'

/** Options for `cache`. */
export interface CacheOptions {
  /** Prices that extend or override the built-in table, as in the options of a turn. */
  readonly prices?: Prices | undefined
  /** Time of the next call. Default: now. */
  readonly now?: Date | undefined
}

const optionsSchema = z.strictObject({ prices: pricesSchema.optional(), now: z.date().optional() })

/**
 * Finds the calls that could not read everything that the previous call had cached, with the reason for each and the event that caused
 * it. Also returns the cost of resuming now, and advice. Uses receipts and the usage reported by the API. Reads the whole log.
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
  return cacheReport(chat.id, await packedLogOf(chat), prices, (options.now ?? new Date()).getTime())
}
