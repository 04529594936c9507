import { z } from 'zod'
import { conversationIdSchema } from '../events/ids.ts'

// Schemas of path and query parameters, which convert texts to numbers and flags.

const wholeText = z.string().regex(/^-?\d{1,16}$/, { error: 'must be a whole number' })

/** Makes the schema of an integer, given as text, from `least` through `most`. */
export const whole = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  wholeText.transform(Number).pipe(z.int().min(least).max(most))
export const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .pipe(z.boolean())

export const ofConversation = z.strictObject({ id: conversationIdSchema })
export const ofCall = ofConversation.extend({
  call: z
    .string()
    .regex(/^(p\d{1,15}|[1-9]\d{0,14})$/, {
      error: 'must be the number of a call, or p followed by the position of a reply',
    })
    .describe('Number of the call; for a reply without a receipt, `p` followed by its position: p17'),
})
export const at = whole(-1)
  .optional()
  .describe('Position from which the history is viewed. Default: the last one')

/** Maximum number of items on a page. */
export const maxLimit = 1_000
export const limit = whole(1, maxLimit).default(200)
export const clip = whole(1)
  .optional()
  .describe(
    'Maximum length of strings in blocks, in characters: longer ones are cut, and `cuts` lists them with their lengths',
  )
