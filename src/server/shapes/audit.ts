import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'

// Response schemas for audits, which match the library's types. Responses may have further fields.

const position = z.int().min(-1).describe('0-based; -1 is before the first event')
const count = z.int().min(0)
const time = z.iso.datetime().describe('UTC')
const hash = z.string().describe('SHA-256 in hex')

const anchors = z
  .array(z.looseObject({ anchor: z.string(), size: count, time: time.describe('Time of the checkpoint') }))
  .describe('Last checkpoint given to each anchor, as recorded in this store')
const ledger = {
  origin: z.string(),
  key: z.string().describe('Verifier key of the current signing key'),
  size: count.describe('Entries'),
  sealed: time.optional().describe('Time of the last checkpoint'),
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
          .describe(
            'Time at which this ledger replaced another one, and the reason; absent for the first ledger',
          ),
        checkpoint: z.string().optional().describe('The last checkpoint, a signed note'),
        unsealed: count.describe('Number of conversations written to since their last seal'),
        exposedSince: z
          .string()
          .optional()
          .describe(
            'Events since this time, or since the `beginning`, could still be rewritten unnoticed; absent if none could',
          ),
      })
      .optional()
      .describe('Absent if the store never had a ledger'),
  })
  .meta({ id: 'Audit' })

export const standingShape = z
  .object({
    conversation: conversationIdSchema,
    last: position.describe('Last position of the conversation'),
    ledger: z
      .looseObject({
        ...ledger,
        first: position.describe("Position of the conversation's own first event"),
        heads: z
          .array(
            z.looseObject({
              revision: count,
              position,
              head: hash,
              index: count.describe('Index of the entry in the ledger'),
              sealed: time,
              state: z
                .enum(['same', 'changed', 'gone'])
                .describe(
                  'changed: the event at this position, or an earlier one, is no longer the sealed one',
                ),
            }),
          )
          .describe('Sealed heads of the conversation, newest first: at most the last 100'),
        proof: z
          .looseObject({ index: count, size: count, proof: z.array(z.string()), checkpoint: z.string() })
          .optional()
          .describe('Proof that the newest entry is in the ledger'),
      })
      .optional()
      .describe('Absent if the store never had a ledger'),
    problem: z.string().optional().describe('Reason why the ledger itself cannot be trusted'),
  })
  .meta({
    id: 'Standing',
    description: "Returns the ledger's entries for a conversation, compared with its events",
  })

export const checkedShape = z
  .object({
    conversation: conversationIdSchema,
    last: position.describe('Last position of the conversation'),
    events: count.describe("Number of events in the conversation's own stream that are unchanged"),
    discrepancy: z
      .looseObject({ position, kind: z.string(), message: z.string() })
      .optional()
      .describe('First problem found'),
    erased: count.optional().describe('Number of events whose content was erased'),
    inherited: z
      .object({ events: count, from: conversationIdSchema })
      .optional()
      .describe(
        'For a fork: number of inherited events that are unchanged, and the conversation that it has them from',
      ),
    receipts: z
      .object({
        verified: count.describe('Number of calls whose rebuilt request is identical to the one sent'),
        differs: count,
        erased: count
          .optional()
          .describe(
            'Number of calls that are not checkable, because their requests showed content that was erased',
          ),
        missing: count.describe('Number of replies that have no receipt although an earlier call has one'),
        reconstructed: count.describe(
          'Number of replies without a receipt that come before any call with one',
        ),
        findings: z
          .array(z.looseObject({ call: count.optional(), position, kind: z.string(), message: z.string() }))
          .describe('The first 1,000 problems'),
      })
      .optional()
      .describe('Absent if the events cannot be read'),
  })
  .meta({ id: 'Checked' })
