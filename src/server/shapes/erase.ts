import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'
import { count, position, time } from './parts.ts'

// Response schemas for erasures and legal holds.

export const erasureShape = z
  .looseObject({
    conversation: conversationIdSchema,
    positions: z.array(position).describe('Positions of the events erased, ascending'),
    notes: count.describe('Number of notes and links erased'),
    turns: count.describe('Number of records of turns erased'),
    inbox: count.describe('Number of queued messages erased'),
    archive: count.describe(
      'Number of parts erased of the archived file from which the conversation was imported',
    ),
    contents: count.describe('Number of contents stored outside these events that were removed'),
    recent: count.describe(
      'Number of contents that stay for now, because they were stored recently: `gc` removes them',
    ),
    rewritten: count
      .optional()
      .describe(
        "Size of the store's file, in bytes, if it was rewritten first, because 0.1.0 had left removed content in its unused parts",
      ),
    repeated: z
      .array(
        z.looseObject({
          place: z.looseObject({ kind: z.string(), position: position.optional() }),
          of: z.array(position),
          excerpt: z.string().describe('Masked form of the longest run of repeated words'),
        }),
      )
      .describe('Places that repeat words of the erased events, and are not erased'),
    subagents: z
      .array(conversationIdSchema)
      .describe('Conversations of its subagents, and of theirs, that still have content: erase them, too'),
  })
  .meta({ id: 'Erasure' })

const oneHold = { by: z.string(), reason: z.string().optional(), since: time }

export const holdShape = z
  .looseObject({
    ...oneHold,
    others: z.array(z.looseObject(oneHold)).optional().describe('The holds of other names, oldest first'),
    conversation: conversationIdSchema
      .optional()
      .describe(
        'The held conversation, if it is not this one: this one is its subagent, or a subagent of one',
      ),
    covers: z
      .array(conversationIdSchema)
      .optional()
      .describe("Conversations of this one's subagents, and of theirs, which the hold covers, too"),
  })
  .meta({ id: 'Hold' })
