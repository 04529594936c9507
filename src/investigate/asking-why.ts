import { z } from 'zod'
import type { Conversation } from '../api/promises.ts'
import { check } from '../events/check.ts'
import { type CallName, callNameSchema } from '../events/call-name.ts'
import { orThrow } from '../result/steps.ts'
import { logOf } from './log.ts'
import { type Why, whyCall } from './why.ts'

/** Which call to ask about. */
export interface WhyOptions {
  /** Its number, from 1, as `chat.calls()` counts them; of a reply without a receipt, as of an import, `p` and its position. Default: the last one. */
  readonly call?: CallName | undefined
}

const optionsSchema = z.strictObject({ call: callNameSchema.optional() })

/**
 * What the model was shown in a call and what not, the event that caused each difference from the call before, and what its answer names
 * although it was hidden. Reads the whole log.
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
  return orThrow(whyCall(chat.id, await logOf(chat), options.call))
}
