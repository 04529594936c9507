import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'

// What the API answers about audits: the shapes that the library has, as schemas. More fields may come.

const position = z.int().min(-1).describe('0-based; -1 is before the first event')
const count = z.int().min(0)
const time = z.iso.datetime().describe('UTC')
const hash = z.string().describe('SHA-256 in hex')

const anchors = z
  .array(
    z.looseObject({ anchor: z.string(), size: count, time: time.describe('When the checkpoint was made') }),
  )
  .describe('The last checkpoint that each anchor was given, as this store recorded it')
const ledger = {
  origin: z.string(),
  key: z.string().describe('The verifier key that signs now'),
  size: count.describe('Entries'),
  sealed: time.optional().describe('When the last checkpoint was made'),
  anchors,
}

export const auditShape = z
  .object({
    ledger: z
      .looseObject({
        ...ledger,
        again: z
          .looseObject({ time, reason: z.string() })
          .optional()
          .describe('When and why it was begun in place of another one; absent of the first ledger'),
        checkpoint: z.string().optional().describe('The last one, a signed note'),
        unsealed: count.describe('Conversations that were written to since they were sealed'),
        exposedSince: z
          .string()
          .optional()
          .describe(
            'What was written since could still be rewritten unseen: a time, or `beginning`; absent if nothing',
          ),
      })
      .optional()
      .describe('Absent if none was ever begun'),
  })
  .meta({ id: 'Audit' })

export const standingShape = z
  .object({
    conversation: conversationIdSchema,
    last: position.describe('The last position of the conversation'),
    ledger: z
      .looseObject({
        ...ledger,
        first: position.describe("Of the conversation's own first event"),
        heads: z
          .array(
            z.looseObject({
              revision: count,
              position,
              head: hash,
              index: count.describe('Of the entry'),
              sealed: time,
              state: z
                .enum(['same', 'changed', 'gone'])
                .describe('changed: the event there now, or one before it, is not the one that was sealed'),
            }),
          )
          .describe('What was sealed of it, the newest first: the last 100 at most'),
        proof: z
          .looseObject({ index: count, size: count, proof: z.array(z.string()), checkpoint: z.string() })
          .optional()
          .describe('That the newest entry is in the ledger'),
      })
      .optional()
      .describe('Absent if none was ever begun'),
    problem: z.string().optional().describe('Why the ledger itself cannot be believed'),
  })
  .meta({
    id: 'Standing',
    description: 'What the ledger has of a conversation, and whether that is still so',
  })

export const checkedShape = z
  .object({
    conversation: conversationIdSchema,
    last: position.describe('The last position of the conversation'),
    events: count.describe("Events of the conversation's own stream that are as they were written"),
    discrepancy: z
      .looseObject({ position, kind: z.string(), message: z.string() })
      .optional()
      .describe('The first thing that is not as it was written'),
    receipts: z
      .object({
        verified: count.describe('Calls whose request was made again, the same to the byte'),
        differs: count,
        missing: count.describe('Replies without a receipt, after calls that have one'),
        reconstructed: count.describe('Replies without a receipt, and nothing before them has one'),
        findings: z
          .array(z.looseObject({ call: count.optional(), position, kind: z.string(), message: z.string() }))
          .describe('What is not verified: the first 1,000'),
      })
      .optional()
      .describe('Absent if the events cannot be read'),
  })
  .meta({ id: 'Checked' })
