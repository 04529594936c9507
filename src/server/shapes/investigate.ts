import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'

// Response schemas for analyses, which match the types of palimpsest/investigate. Responses may have further fields.

const position = z.int().min(-1).describe('0-based; -1 is before the first event')
const count = z.int().min(0)
const usd = z.number().optional().describe('US dollars at list prices; absent if the model has no price')

export const cacheShape = z
  .looseObject({
    conversation: conversationIdSchema,
    calls: count.describe('Number of replies with recorded usage'),
    uncounted: count,
    inherited: count,
    input: count.describe('Input tokens of all calls'),
    read: count.describe('Input tokens read from the cache'),
    breaks: z.array(
      z.looseObject({
        call: count.optional(),
        position: position.describe('Position of the reply'),
        kind: z.string().describe('Cause of the break'),
        event: position.optional().describe('Position of the event that caused the break'),
        path: z.string().optional().describe('The first block that differs'),
        also: z.string().optional(),
        lost: count.describe('Number of cached tokens that were not read'),
        again: count.describe('Approximate number of tokens paid in full again'),
        usd,
        idle: z.number().describe('Seconds between the previous reply and this request'),
      }),
    ),
    resuming: z
      .looseObject({ tokens: count, cached: count, isWarm: z.boolean(), usd, usdCold: usd })
      .optional()
      .describe("Current cost of the next call's input"),
    advice: z.array(z.string()),
  })
  .meta({ id: 'CacheReport' })

const spent = z
  .looseObject({
    calls: count,
    failed: count,
    input: count,
    cacheRead: count,
    cacheWrite: count,
    output: count,
    usd: z.number(),
    unpriced: count,
    uncounted: count,
    understated: count,
    lacks: z.record(z.string(), count),
  })
  .meta({ id: 'Spent' })
export const costShape = z
  .looseObject({
    conversations: z.array(
      z.looseObject({ id: z.string(), own: spent, total: spent, missing: z.array(z.string()) }),
    ),
    total: spent,
    models: z.array(spent.extend({ model: z.string().optional() })),
    days: z.array(spent),
    tools: z.array(spent.extend({ tool: z.string().optional(), uses: count })),
    problems: z.array(z.object({ id: z.string(), problem: z.string() })),
  })
  .meta({ id: 'Cost' })

const needed = z
  .looseObject({
    term: z.string(),
    hidden: z.array(position).describe('Hidden messages that contain the term, at most the newest 20'),
    by: z.array(position),
    inSummary: z.boolean(),
  })
  .meta({ id: 'Needed', description: 'Terms used in an answer that occur only in hidden messages' })

const callName = z
  .union([count, z.string()])
  .describe('Number of a call; for a reply without a receipt, `p` followed by its position')

export const whyShape = z
  .looseObject({
    conversation: conversationIdSchema,
    call: callName,
    position,
    at: position,
    isAbandoned: z.literal(true).optional().describe('Present if a rewind has abandoned the answer'),
    derived: z
      .object({ unrecorded: z.array(z.string()) })
      .optional()
      .describe(
        'Present if there is no receipt: everything is derived from the log, which lacks these parts of a request',
      ),
    tokens: count,
    shown: z.array(z.looseObject({ position, kind: z.string(), tokens: count })),
    hidden: z.array(z.looseObject({ by: position, kind: z.string(), messages: count, tokens: count })),
    abandoned: count,
    before: callName.optional().describe('The call that this one is compared with'),
    differences: z.array(
      z.looseObject({
        change: z.enum(['appeared', 'disappeared']),
        position,
        kind: z.string(),
        tokens: count,
        because: z.string(),
        event: position,
      }),
    ),
    configuration: z
      .looseObject({ event: position.optional(), fields: z.array(z.string()) })
      .optional()
      .describe('The fields that differ, and the event that caused the change'),
    repairs: z.array(z.looseObject({ kind: z.string(), position, detail: z.string(), isNew: z.boolean() })),
    needed: z.array(needed),
  })
  .meta({ id: 'Why' })

export const lossShape = z
  .looseObject({
    conversation: conversationIdSchema,
    replies: count.describe('Number of replies that were examined'),
    needed: z.array(
      z.looseObject({
        term: z.string(),
        calls: z.array(callName).describe('Calls that needed the term while it was hidden'),
        uses: count.describe('Number of replies that name the term, from the first of these calls on'),
        hidden: z.array(position).describe('Hidden messages that contain the term, at most the newest 20'),
        by: z.array(position),
        inSummary: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'Losses', description: 'Terms that replies needed although they were hidden' })

const places = z.array(position).describe('The first 20 positions')
const counted = <S extends z.ZodType>(item: S) =>
  z.looseObject({ count, items: z.array(item).describe('The first 100') })
export const storyShape = z
  .looseObject({
    conversation: conversationIdSchema,
    marker: position,
    kind: z.enum(['condensed', 'truncated']),
    messages: count.describe('Number of messages that the marker hides, at all levels'),
    asked: counted(z.looseObject({ position, text: z.string() })).describe('Messages of the user'),
    failed: counted(z.looseObject({ position, tool: z.string().optional(), text: z.string() })).describe(
      'Results of tools that are errors, with the first line of each',
    ),
    changed: counted(z.looseObject({ path: z.string(), edits: count, positions: places })).describe(
      'Files that tools changed, most edited first',
    ),
    steps: counted(z.looseObject({ tool: z.string(), calls: count, positions: places })).describe(
      'Tool calls (`count`) by tool (`items`), most called first',
    ),
    lost: counted(z.looseObject({ term: z.string(), said: places, needed: places })).describe(
      'Names that hidden messages contain, the summary does not, and later replies use; rarest first',
    ),
    reread: counted(z.looseObject({ path: z.string(), read: places, again: places })).describe(
      'Files that tools read before they were hidden, and again later',
    ),
    examined: z
      .looseObject({ hidden: count, later: count, isAll: z.boolean() })
      .describe('Number of hidden and later messages that were read. If `isAll` is false, there are more'),
  })
  .meta({ id: 'MarkerStory', description: 'What a marker hid, and what its summary lost' })

const total = {
  tokens: count,
  read: count,
  usd,
  condensed: count,
  truncated: count,
  edited: count,
}
export const replayedShape = z
  .looseObject({
    conversation: conversationIdSchema,
    policy: z.string(),
    calls: z.array(
      z.looseObject({
        ...total,
        call: count.optional(),
        position: position.describe('Position of the recorded reply'),
        isSame: z.boolean().describe('True if the model would have been shown the same history'),
        isOver: z.boolean(),
        hidden: count,
        needed: z.array(needed),
      }),
    ),
    keptMarkers: count.describe('Number of markers that no context policy wrote, and that the replay keeps'),
    total: z.looseObject({ ...total, over: count, needed: count, same: count }),
  })
  .meta({ id: 'Replayed', description: 'The requests that a policy would have sent' })

const verdict = z.enum(['good', 'bad', 'skip'])
export const saidShape = z.strictObject({
  position: z.int().min(0).describe('The position to judge next'),
  verdict,
})
export const bisectionShape = z
  .looseObject({
    id: z.string(),
    conversation: conversationIdSchema,
    good: position,
    bad: position,
    question: z.string(),
    reliability: z.number(),
    result: z.discriminatedUnion('type', [
      z.object({ type: z.literal('ask'), position }),
      z.object({ type: z.literal('found'), position, probability: z.number() }),
      z.object({ type: z.literal('unclear'), first: position, last: position, why: z.string() }),
    ]),
    event: z.string().optional().describe('Type of the event found'),
    verdicts: z.array(
      z.looseObject({
        position,
        verdict,
        evidence: z.unknown().optional(),
        isMeasure: z.boolean().optional().describe('True if the verdict was given to measure reliability'),
      }),
    ),
    suspects: z.array(z.looseObject({ position, type: z.string(), probability: z.number() })),
    begun: z.iso.datetime(),
    by: z.looseObject({ kind: z.string(), id: z.string().optional() }),
    candidates: z.array(position).describe('Range that contains the first bad position'),
    probabilities: z
      .array(z.number())
      .describe('Probability of each candidate to be the first bad position, to four digits'),
  })
  .meta({ id: 'Bisection' })
export const bisectionListedShape = bisectionShape
  .omit({ candidates: true, probabilities: true, suspects: true, verdicts: true })
  .extend({ verdicts: count.describe('Number of verdicts') })
  .meta({ id: 'BisectionListed' })
