import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'
import { count } from './parts.ts'

// Response schema for a conversation in a list.

const overviewShape = z
  .looseObject({
    id: conversationIdSchema,
    title: z.string(),
    messages: count.optional(),
    events: count,
    updated: z.string(),
    parent: z.string().optional(),
    problem: z.string().optional(),
    isKeyMissing: z.literal(true).optional(),
  })
  .meta({ id: 'Overview' })

export const listedShape = overviewShape
  .extend({
    tokens: count.optional().describe('Estimated tokens that the model sees now'),
    curve: z
      .array(count)
      .max(32)
      .optional()
      .describe('Token counts at evenly spaced positions, including the last one'),
    calls: count.optional().describe('Number of replies with a receipt'),
    has: z.array(z.string()).optional(),
  })
  .meta({ id: 'Listed', description: 'Fields that are not indexed yet are absent' })
