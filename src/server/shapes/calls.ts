import { z } from 'zod'
import { pricesAsOf } from '../../index.ts'
import { receiptStates } from '../calls.ts'
import { count, origin, position } from './parts.ts'

// Response schemas for model calls.

export const callShape = z
  .looseObject({
    number: z
      .int()
      .min(1)
      .optional()
      .describe('Absent for a reply without a receipt, which is named `p` followed by its position'),
    position: position.optional().describe('Position of the answer, if there is one'),
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
      .describe('For a reply without a receipt: true if an earlier call has one'),
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
        'verified: the canonical JSON of system, tools and messages matches the receipt; differs: it does not; erased: it showed content that was erased, so it is not checkable; without a receipt: missing (an earlier call has one), reconstructed (none has), pending (no reply yet)',
      ),
    finding: z
      .looseObject({
        kind: z.string(),
        message: z.string(),
        path: z.string().optional().describe('Path of the first difference'),
      })
      .optional(),
    request: requestBody
      .extend({ parameters: z.record(z.string(), z.unknown()).optional() })
      .describe('The request in the form of the Messages API, with its parameters separate'),
    body: requestBody.optional().describe('The body that was sent, if it has another form'),
    betas: z.array(z.string()).optional(),
    isSame: z.boolean().optional(),
    usd: z
      .number()
      .optional()
      .describe(`Cost in US dollars at the list prices of ${pricesAsOf}, where they are known`),
  })
  .meta({ id: 'SentCall' })
