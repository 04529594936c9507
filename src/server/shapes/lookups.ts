import { z } from 'zod'
import { aboutShape } from './list.ts'
import { count, position, time } from './parts.ts'

// Response schemas for operations that are answered from the index beside the store.

const upTo = {
  last: position.describe('Last position of the conversation'),
  indexed: position.describe('Last position that the answer covers: the index may still be catching up'),
  problem: z.string().optional().describe('Reason why the index cannot continue'),
}
const counts = z.array(count)
export const outlineShape = z
  .object({
    from: position,
    to: position.describe('Last position in the columns'),
    ...upTo,
    next: position.optional().describe('`from` for the next part of the outline; absent on the last one'),
    kinds: z
      .string()
      .describe(
        'One letter per event: u user, r user with tool results, a assistant, c assistant with tool calls, s system, C Condensed, T Truncated, W Rewound, R Restored, K Configured, E Erased, - any other',
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
    calls: z.array(position).describe('Positions of the replies with a receipt'),
    failed: z
      .array(position)
      .describe(
        'Positions of the events that record an error: a failed tool result, a failed call of the model, or a summary that failed',
      ),
    retries: z
      .array(position)
      .describe(
        'Positions of the replies that are retries: with a tool call that repeats one that failed before in the same turn, after a failed call of the model, or after a failed attempt of a worker',
      ),
    about: aboutShape.optional(),
  })
  .meta({
    id: 'Outline',
    description: 'Columns by position: the element at index i belongs to position `from` + i',
  })

export const bucketsShape = z
  .object({
    ...upTo,
    buckets: count,
    first: z.array(position).describe('First position of each bucket'),
    min: counts.describe('Minimum of the tokens that the model sees in the bucket'),
    max: counts,
    kinds: z
      .record(z.string(), counts)
      .describe('Number of events of each kind in each bucket, by the letters of the outline'),
    markers: counts.describe('Number of markers in each bucket'),
    rewinds: counts,
    failed: counts.describe('Number of events in each bucket that record an error'),
    retries: counts.describe('Number of replies in each bucket that are retries'),
  })
  .meta({ id: 'Buckets' })

export const branchesShape = z
  .object({
    abandoned: z
      .array(
        z.object({
          first: position,
          last: position,
          by: position.describe('Position of the rewind that abandoned the range'),
        }),
      )
      .describe('Ranges of positions off the path, newest first'),
    forks: z
      .array(
        z.object({
          id: z.string(),
          at: position.describe('Last position that the fork shares with this conversation'),
        }),
      )
      .describe('Most recently begun first'),
    isAll: z
      .boolean()
      .describe(
        'True if the lists are complete: each has at most 100 entries, and others may not be indexed yet',
      ),
    ...upTo,
  })
  .meta({
    id: 'Branches',
    description: 'Forks, and branches that are not on the path, as far as they have been indexed',
  })

export const hiddenShape = z
  .object({
    marker: position,
    messages: count,
    kinds: z
      .record(z.string(), count)
      .describe('Number of messages of each kind, by the letters of the outline'),
    tools: z
      .array(z.tuple([z.string(), count]))
      .describe('Tools with their number of calls, most called first'),
  })
  .meta({ id: 'Hidden' })

const seen = z
  .object({
    state: z.enum(['shown', 'hidden', 'abandoned']),
    by: position.optional().describe('Position of the event that caused this status'),
  })
  .meta({
    id: 'Seen',
    description: 'State of a message or system prompt for the model, and the event that hides or abandons it',
  })
const hit = z.object({
  conversation: z.string(),
  position,
  kind: z.string().describe('A letter of the outline'),
  time,
  excerpt: z.object({ before: z.string(), match: z.string(), after: z.string() }),
  now: seen,
  then: seen.describe('State of the hit for the model at the next reply'),
})
const titleHit = hit.pick({ conversation: true, time: true, excerpt: true })
const found = {
  titles: z
    .array(titleHit)
    .describe('On the first page: conversations with the text in their title, at most `limit`'),
  items: z.array(hit).describe('The newest first'),
  next: z.string().optional().describe('`cursor` for the next page; absent if there are no more hits'),
  isComplete: z.boolean().describe('True if everything was indexed'),
  problem: upTo.problem,
}
export const foundShape = z.object(found).meta({ id: 'Found' })
export const foundInShape = z.object({ ...found, ...upTo }).meta({ id: 'FoundInConversation' })
