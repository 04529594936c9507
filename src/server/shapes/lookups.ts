import { z } from 'zod'
import { count, position, time } from './parts.ts'

// What the index beside the store answers.

const upTo = {
  last: position.describe('The last position of the conversation'),
  indexed: position.describe('The last position that the answer knows of: the index may still catch up'),
  problem: z.string().optional().describe('What keeps the index from continuing'),
}
const counts = z.array(count)
export const outlineShape = z
  .object({
    from: position,
    to: position.describe('The last position of the columns'),
    ...upTo,
    next: position.optional().describe('`from` of the next outline, if there is one'),
    kinds: z
      .string()
      .describe(
        'A letter each: u user, r user with tool results, a assistant, c assistant with tool calls, s system, C Condensed, T Truncated, W Rewound, R Restored, K Configured, - any other',
      ),
    sizes: counts.describe("Bytes of each event's data as JSON"),
    tokens: counts.describe('Estimated tokens of what the model sees right after each event'),
    times: z.array(z.int()).describe('Milliseconds since 1970'),
    markers: z.array(
      z.object({
        position,
        kind: z.enum(['condensed', 'truncated']),
        first: position,
        last: position,
        hidden: count,
        before: count,
        after: count,
        method: z.string().optional(),
      }),
    ),
    rewinds: z.array(z.object({ position, to: position })),
    restores: z.array(z.object({ position, marker: position })),
    calls: z.array(position).describe('Replies that have a receipt'),
  })
  .meta({ id: 'Outline', description: 'The element at index i of a column is of position `from` + i' })

export const bucketsShape = z
  .object({
    ...upTo,
    buckets: count,
    first: z.array(position).describe('The first position of each'),
    min: counts.describe('The fewest tokens that the model sees in it'),
    max: counts,
    markers: counts.describe('How many it has'),
    rewinds: counts,
  })
  .meta({ id: 'Buckets' })

export const branchesShape = z
  .object({
    abandoned: z
      .array(
        z.object({ first: position, last: position, by: position.describe('The rewind that left them') }),
      )
      .describe('Positions that are not on the path, the newest first'),
    forks: z
      .array(z.object({ id: z.string(), at: position.describe('The last position that it has of this one') }))
      .describe('Begun last first'),
    isAll: z
      .boolean()
      .describe('Whether these are all: there are at most 100 of each, and others may not be indexed yet'),
    indexed: upTo.indexed,
    problem: upTo.problem,
  })
  .meta({ id: 'Branches', description: 'What was tried beside the path, as far as it is indexed' })

export const hiddenShape = z
  .object({
    marker: position,
    messages: count,
    kinds: z.record(z.string(), count).describe('By the letters of an outline'),
    tools: z.array(z.tuple([z.string(), count])).describe('The most called first'),
  })
  .meta({ id: 'Hidden' })

const seen = z
  .object({
    state: z.enum(['shown', 'hidden', 'abandoned']),
    by: position.optional().describe('The position of the event that made it so'),
  })
  .meta({ id: 'Seen', description: 'Whether the model sees a message or a system prompt' })
const hit = z.object({
  conversation: z.string(),
  position,
  kind: z.string().describe('A letter, as in an outline'),
  time,
  excerpt: z.object({ before: z.string(), match: z.string(), after: z.string() }),
  now: seen,
  then: seen.describe('For the next reply after it'),
})
const titleHit = hit.pick({ conversation: true, time: true, excerpt: true })
const found = {
  titles: z
    .array(titleHit)
    .describe('On the first page: the conversations whose title has it, at most `limit`'),
  items: z.array(hit).describe('The newest first'),
  next: z.string().optional().describe('There may be more: `cursor` of the next page'),
  isComplete: z.boolean().describe('Whether everything was indexed that was there'),
  problem: upTo.problem,
}
export const foundShape = z.object(found).meta({ id: 'Found' })
export const foundInShape = z.object({ ...found, ...upTo }).meta({ id: 'FoundInConversation' })
