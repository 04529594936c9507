import { z } from 'zod'
import { pricesAsOf } from '../../index.ts'
import { receiptStates } from '../calls.ts'
import { count, origin, position } from './parts.ts'

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
    receipt: z
      .looseObject({
        position,
        digest: z.string(),
        options: z.looseObject({ repairs: z.record(z.string(), count).optional() }).optional(),
      })
      .optional(),
    isMissing: z
      .boolean()
      .optional()
      .describe('Of a reply without a receipt: whether a call before it has one'),
  })
  .meta({ id: 'ModelCall' })
const requestBody = z.looseObject({
  model: z.string().optional(),
  messages: z.array(z.looseObject({ role: z.string() })),
})
export const sentShape = callShape
  .extend({
    state: z
      .enum(receiptStates)
      .describe(
        'verified: canonical JSON of system, tools and messages as in the receipt; differs: not so; without a receipt, missing (calls before it have one), reconstructed (none has), pending (no reply yet)',
      ),
    finding: z
      .looseObject({
        kind: z.string(),
        message: z.string(),
        path: z.string().optional().describe('The place of the first difference'),
      })
      .optional(),
    request: requestBody
      .extend({ parameters: z.record(z.string(), z.unknown()).optional() })
      .describe('In the form of the Messages API, its parameters by themselves'),
    body: requestBody.optional().describe('The body that was sent, if it had another form'),
    betas: z.array(z.string()).optional(),
    isSame: z.boolean().optional(),
    usd: z
      .number()
      .optional()
      .describe(`What it cost in US dollars at the list prices of ${pricesAsOf}, where they are known`),
  })
  .meta({ id: 'SentCall' })
