import { z } from 'zod'
import { pricesAsOf } from '../../index.ts'
import { receiptStates } from '../calls.ts'
import { origin, position } from './parts.ts'

// Calls of models.

export const callShape = z
  .looseObject({
    number: z
      .int()
      .min(1)
      .optional()
      .describe('Without a receipt, a reply has none: it is called p and its position'),
    position: position.optional().describe('Of the answer, if there is one'),
    kind: z.enum(['reply', 'summary']).optional(),
    origin: origin.optional(),
    receipt: z.looseObject({ position, digest: z.string() }).optional(),
  })
  .meta({ id: 'ModelCall' })
export const sentShape = callShape
  .extend({
    state: z
      .enum(receiptStates)
      .describe(
        'verified: canonical JSON of system, tools and messages as in the receipt; differs: not so; without a receipt, missing (calls before it have one), reconstructed (none has), pending (no reply yet)',
      ),
    finding: z.looseObject({ kind: z.string(), message: z.string() }).optional(),
    request: z.looseObject({}),
    isSame: z.boolean().optional(),
    usd: z
      .number()
      .optional()
      .describe(`What it cost in US dollars at the list prices of ${pricesAsOf}, where they are known`),
  })
  .meta({ id: 'SentCall' })
