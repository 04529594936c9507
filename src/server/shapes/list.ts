import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'
import { count } from './parts.ts'

// Conversations, as lists have them.

const overviewShape = z
  .looseObject({
    id: conversationIdSchema,
    title: z.string(),
    messages: count.optional(),
    events: count,
    updated: z.string(),
    parent: z.string().optional(),
    problem: z.string().optional(),
  })
  .meta({ id: 'Overview' })

export const listedShape = overviewShape
  .extend({
    tokens: count.optional().describe('What the model sees now, estimated'),
    curve: z
      .array(count)
      .max(32)
      .optional()
      .describe('Tokens at positions evenly spaced, the last one included'),
    calls: count.optional().describe('Replies that have a receipt'),
    has: z.array(z.string()).optional(),
  })
  .meta({ id: 'Listed', description: 'What the index does not know yet is absent' })
