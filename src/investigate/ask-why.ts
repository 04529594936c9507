import { z } from 'zod'
import type { Conversation } from '../api/promises.ts'
import { check } from '../events/check.ts'
import { type CallName, callNameSchema } from '../events/call-name.ts'
import { orThrow } from '../result/fallible.ts'
import { packedLogOf } from './packed-log.ts'
import { type LossReport, whyEveryCall } from './why-all.ts'
import { type Why, whyCall } from './why.ts'

/** Options for `why`. */
export interface WhyOptions {
  /**
   * Number of the call, from 1, as in `chat.calls()`. For a reply without a receipt, such as an imported one: `p` followed by its
   * position, or the position alone if no call has that number. Default: the last call on the
   * current path.
   */
  readonly call?: CallName | undefined
}

const optionsSchema = z.strictObject({ call: callNameSchema.optional() })

/**
 * Explains a call: the items shown to the model, the hidden items, the event that caused each difference from the previous call, and
 * the hidden terms named in the reply. Reads the whole log.
 *
 * Rejects with `CallOutOfRange`, `ConversationNotFound` or another `ReadError`, or `InvalidInput`.
 *
 * @example
 * import { why } from 'palimpsest/investigate'
 *
 * await chat.turn({ client, model: 'claude-opus-5-5' })
 * const { differences, needed } = await why(chat, { call: 1 })
 * for (const { change, position, because, event } of differences) console.log(change, position, because, event)
 * for (const { term, hidden } of needed) console.log(term, hidden)
 */
export const why = async (
  chat: Pick<Conversation, 'id' | 'events'>,
  options: WhyOptions = {},
): Promise<Why> => {
  await orThrow(check(optionsSchema, options))
  return orThrow(whyCall(chat.id, await packedLogOf(chat), options.call))
}

/**
 * Finds everything that summaries and truncations hid although a later reply needed it: paths, identifiers, ids and numbers that the
 * reply names, most needed first. Reads the whole log.
 *
 * Rejects with `ConversationNotFound` or another `ReadError`.
 *
 * @example
 * import { whyAll } from 'palimpsest/investigate'
 *
 * const { needed } = await whyAll(store.conversation('task-42'))
 * for (const { term, uses, hidden, by, inSummary } of needed) console.log(term, uses, hidden, by, inSummary)
 */
export const whyAll = async (chat: Pick<Conversation, 'id' | 'events'>): Promise<LossReport> =>
  whyEveryCall(chat.id, await packedLogOf(chat))
