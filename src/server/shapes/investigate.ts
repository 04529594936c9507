import { z } from 'zod'
import { conversationIdSchema } from '../../events/ids.ts'

// What the API answers about what recorded conversations tell: the shapes of palimpsest/investigate, as schemas. More fields may come.

const position = z.int().min(-1).describe('0-based; -1 is before the first event')
const count = z.int().min(0)
const usd = z.number().optional().describe('US dollars at list prices; absent if the model has no price')

export const cacheShape = z
  .looseObject({
    conversation: conversationIdSchema,
    calls: count.describe('Replies whose usage is recorded'),
    uncounted: count,
    inherited: count,
    input: count.describe('Input tokens of all calls'),
    read: count.describe('How many of them were read from the cache'),
    breaks: z.array(
      z.looseObject({
        call: count.optional(),
        position: position.describe('Of the reply'),
        kind: z.string().describe('What broke it'),
        event: position.optional().describe('The event that caused it'),
        path: z.string().optional().describe('The first block that differs'),
        also: z.string().optional(),
        lost: count.describe('Tokens in the cache that were not read'),
        again: count.describe('About how many tokens were paid in full again'),
        usd,
        idle: z.number().describe('Seconds between the reply before and this request'),
      }),
    ),
    resuming: z
      .looseObject({ tokens: count, cached: count, isWarm: z.boolean(), usd, usdCold: usd })
      .optional()
      .describe('What the input of the next call would cost now'),
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
    conversations: z.array(z.looseObject({ id: z.string(), own: spent, total: spent })),
    total: spent,
    models: z.array(spent.extend({ model: z.string().optional() })),
    days: z.array(spent),
    tools: z.array(z.looseObject({ tool: z.string().optional(), uses: count, usd: z.number() })),
    problems: z.array(z.object({ id: z.string(), problem: z.string() })),
  })
  .meta({ id: 'Cost' })

const needed = z
  .looseObject({
    term: z.string(),
    hidden: z.array(position),
    by: z.array(position),
    inSummary: z.boolean(),
  })
  .meta({ id: 'Needed', description: 'What an answer names, and only hidden messages hold' })

const callName = z
  .union([count, z.string()])
  .describe('The number of a call; of a reply without a receipt `p` and its position')

export const whyShape = z
  .looseObject({
    conversation: conversationIdSchema,
    call: callName,
    position,
    at: position,
    derived: z
      .object({ unrecorded: z.array(z.string()) })
      .optional()
      .describe(
        'There is no receipt: all of this is derived from the log, which does not have these parts of a request',
      ),
    tokens: count,
    shown: z.array(z.looseObject({ position, kind: z.string(), tokens: count })),
    hidden: z.array(z.looseObject({ by: position, kind: z.string(), messages: count, tokens: count })),
    abandoned: count,
    before: callName.optional().describe('The call that it is compared with'),
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
      .describe('The fields in which it differs, and the event that caused it'),
    repairs: z.array(z.looseObject({ kind: z.string(), position, detail: z.string(), isNew: z.boolean() })),
    needed: z.array(needed),
  })
  .meta({ id: 'Why' })

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
        position: position.describe('Of the recorded reply'),
        isSame: z.boolean().describe('It would have been shown what it was shown'),
        isOver: z.boolean(),
        hidden: count,
        needed: z.array(needed),
      }),
    ),
    total: z.looseObject({ ...total, over: count, needed: count, same: count }),
  })
  .meta({ id: 'Replayed', description: 'What a policy would have sent in each call' })

const verdict = z.enum(['good', 'bad', 'skip'])
export const saidShape = z.strictObject({
  position: z.int().min(0).describe('The one that is asked for'),
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
    event: z.string().optional().describe('The type of the event that was found'),
    verdicts: z.array(
      z.looseObject({
        position,
        verdict,
        evidence: z.unknown().optional(),
        isMeasure: z.boolean().optional().describe('Asked to find out how reliable answers are'),
      }),
    ),
    suspects: z.array(z.looseObject({ position, type: z.string(), probability: z.number() })),
    begun: z.iso.datetime(),
    by: z.looseObject({ kind: z.string(), id: z.string().optional() }),
    candidates: z.array(position).describe('The first bad position is one of these'),
    probabilities: z.array(z.number()).describe('How likely each candidate is it, to four digits'),
  })
  .meta({ id: 'Bisection' })
export const bisectionListedShape = bisectionShape
  .omit({ candidates: true, probabilities: true, suspects: true, verdicts: true })
  .extend({ verdicts: count.describe('How many there are') })
  .meta({ id: 'BisectionListed' })
