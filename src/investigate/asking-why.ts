import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import type { Conversation } from '../api/promises.ts'
import { check } from '../events/check.ts'
import { toError } from '../result/typed.ts'
import { logOf } from './log.ts'
import { type Why, whyCall } from './why.ts'

/** Which call to ask about. */
export interface WhyOptions {
  /** Its number, from 1, as `chat.calls()` counts them. Default: the last one. */
  readonly call?: number | undefined
}

const optionsSchema = z.strictObject({ call: z.int().min(1).optional() })

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
  const checked = check(optionsSchema, options)
  if (E.isLeft(checked)) throw toError(checked.left)
  const found = whyCall(chat.id, await logOf(chat), options.call)
  if (E.isLeft(found)) throw toError(found.left)
  return found.right
}
