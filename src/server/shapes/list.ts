import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'
import { statuses } from '../../catalogue/status.ts'
import { traitNames } from '../../catalogue/traits.ts'
import { mostLinks } from '../list-entry.ts'
import { count, position } from './parts.ts'
import { linkShape } from './write-shapes.ts'

// Response schema for a conversation in a list.

const overviewShape = z
  .looseObject({
    id: conversationIdSchema,
    title: z.string(),
    messages: count.optional(),
    events: count,
    updated: z.string(),
    parent: z.string().optional(),
    links: z
      .array(linkShape)
      .max(mostLinks)
      .optional()
      .describe("The conversation's own links; if there are more than 100, the newest 100 and `linkCount`"),
    linkCount: count
      .optional()
      .describe('Number of links if not all are here: GET /conversations/{id}/links has them'),
    problem: z.string().optional(),
    isKeyMissing: z.literal(true).optional(),
  })
  .meta({ id: 'Overview' })

const facts = {
  tokens: count.optional().describe('Tokens that the model sees now'),
  isMeasured: z
    .boolean()
    .optional()
    .describe('True if the API has counted all of these tokens; otherwise some are estimated'),
  unrecorded: count
    .optional()
    .describe('Tokens that no event records: system prompt and tools of an imported conversation'),
  calls: count.optional().describe('Number of replies with a receipt'),
  replies: count.optional().describe('Number of replies of a model, with a receipt or without'),
  errors: count
    .optional()
    .describe(
      'Number of events that record an error: a failed tool result, a failed call of the model, or a summary that failed',
    ),
  status: z
    .enum(statuses)
    .optional()
    .describe('`working`: a turn is in progress or due, and something was recorded in the last 15 minutes'),
  waitsFor: z.array(z.string()).optional().describe('Tools whose calls wait for an approval'),
  model: z.string().optional().describe('Model of the last reply'),
  source: z.string().optional().describe('Format from which its first own event was imported'),
  begun: z.string().optional().describe('Time of the first event; of a fork, its first own event'),
  cost: z
    .number()
    .optional()
    .describe(
      "US dollars for the conversation's own calls, at list prices; absent if no call has a usage and a price",
    ),
  isCostPartial: z
    .literal(true)
    .optional()
    .describe('The cost is too low or unknown, because a price or a part of the usage is missing'),
  has: z.array(z.string()).optional().describe('Traits'),
}

const countsOf = <const N extends readonly [string, ...string[]]>(names: N) =>
  z.object(Object.fromEntries(names.map((name) => [name, count])) as Record<N[number], typeof count>)

const nameCount = z.object({ name: z.string(), count })

export const countsShape = z
  .object({
    all: count,
    errors: count.describe('Number of conversations with errors'),
    status: countsOf(statuses),
    has: countsOf(traitNames),
    models: z.array(nameCount).describe('Models, the most frequent 50'),
    actors: z.array(nameCount).describe('Actors by kind or id, the most frequent 50'),
  })
  .describe('Numbers of conversations for each filter; on the first page, once everything is indexed')

export const aboutShape = overviewShape
  .extend({
    ...facts,
    firstError: position
      .optional()
      .describe('Position of the first error, if it is among the first 20,000 events'),
    last: position.describe('Last position of the conversation'),
    indexed: position.describe('Last position that the facts cover: the index may still be catching up'),
  })
  .meta({ id: 'About', description: 'Fields that are not indexed yet are absent' })

export const listedShape = overviewShape
  .extend({
    ...facts,
    curve: z
      .array(count)
      .max(32)
      .optional()
      .describe('Token counts at evenly spaced positions, including the last one'),
    curveMarks: z
      .string()
      .optional()
      .describe(
        'One letter for each value of `curve`: the last mark in its part (`C`, `T`, `W`, `R`), or `-`',
      ),
    marks: z
      .object({
        condensed: count.optional(),
        truncated: count.optional(),
        rewound: count.optional(),
        restored: count.optional(),
      })
      .optional()
      .describe('Numbers of summaries, truncations, rewinds and restores, among the newest 1,000'),
  })
  .meta({ id: 'Listed', description: 'Fields that are not indexed yet are absent' })
