import { z } from 'zod'
import { pricesAsOf } from '../../index.ts'
import { receiptStates } from '../calls.ts'
import { count, origin, position, time } from './parts.ts'

// Response schemas for model calls.

const stepShape = z
  .looseObject({
    time: time.describe('Time at which the answer was recorded'),
    begun: time
      .optional()
      .describe(
        'Time at which the call may have begun: of the event that the request was made after, or of the claim by a worker since',
      ),
    turn: z
      .looseObject({
        from: position.describe('Position of the prompt, or of the rewind after which it was answered again'),
        position: position.describe("Position of the user's message"),
        prompt: z.string().describe('Its first words'),
        time,
      })
      .optional()
      .describe('Absent if the turn began long before the first call on the page'),
    before: z
      .looseObject({ position, at: position.describe('Position that its request was made from') })
      .optional()
      .describe('The previous reply on the same path, if it is on the page'),
    isPart: z
      .literal(true)
      .optional()
      .describe(
        'Present if the answer continues the reply before it, which an import stored in several messages',
      ),
    tools: z
      .array(
        z.looseObject({
          call: z.string(),
          tool: z.string(),
          about: z.string().optional().describe('Beginning of the first text in the input'),
          started: time.optional().describe('Time at which the tool started, if it was recorded'),
          time: time.optional().describe('Time at which the result was recorded'),
          isError: z.literal(true).optional(),
          wait: z
            .looseObject({
              why: z.enum(['approval', 'handed-back']),
              since: time,
              decision: z.enum(['approved', 'denied']).optional(),
              by: z.string().optional().describe('Person who decided'),
              time: time.optional(),
              note: z.string().optional(),
              withdrawn: z.string().optional().describe('Person who withdrew an approval'),
            })
            .optional(),
        }),
      )
      .describe('Tools that the reply calls, at most the first 20'),
    moreTools: count.optional(),
    condensed: z
      .looseObject({ messages: count, tokens: count })
      .optional()
      .describe('Of a summary: the messages that it replaced, and its estimated tokens'),
    attempts: z
      .array(
        z.looseObject({
          error: z.string(),
          begun: time.optional().describe('Time at which a worker began the attempt'),
          time: time.optional().describe('Time at which the worker gave up'),
        }),
      )
      .optional()
      .describe(
        'Failed attempts at the call, at most the last 20: those of workers, then failed calls of the model',
      ),
    abandoned: position.optional().describe('Position of the rewind that abandoned the answer'),
    usd: z
      .number()
      .optional()
      .describe(`Cost in US dollars at the list prices of ${pricesAsOf}, where they are known`),
    costs: z
      .looseObject({
        input: z.number(),
        cacheRead: z.number(),
        cacheWrite: z.number(),
        output: z.number(),
        searches: z.number(),
      })
      .optional()
      .describe('The cost by kind of token, in US dollars'),
    isUnderstated: z
      .literal(true)
      .optional()
      .describe(
        'Present if the answer is far longer than its recorded output, so that its usage and cost are too low',
      ),
  })
  .meta({ id: 'CallStep' })

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
    step: stepShape.optional().describe('With `steps`; of the calls for one summary, only the last has it'),
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
    positions: z
      .array(z.array(position))
      .optional()
      .describe(
        'Positions of the events that each message comes from, as far as they are recognized; none for one that the renderer wrote',
      ),
    betas: z.array(z.string()).optional(),
    isSame: z.boolean().optional(),
    usd: z
      .number()
      .optional()
      .describe(`Cost in US dollars at the list prices of ${pricesAsOf}, where they are known`),
  })
  .meta({ id: 'SentCall' })
