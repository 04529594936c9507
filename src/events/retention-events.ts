import { z } from 'zod'
import { type Codec, codecOf, type DataOf, type FactOf } from './facts.ts'

// Rules about how long content is kept, and the runs that apply them: each in a stream of its own, for the whole store.

const count = z.int().min(0)
const by = z.string().min(1).max(200)

/** Schema of a prefix of conversation ids; an empty one means all conversations. */
const prefixSchema = z.string().regex(/^[A-Za-z0-9._:-]{0,200}$/, {
  error: 'must be the beginning of conversation ids: at most 200 characters of A–Z a–z 0–9 . _ : -',
})

const periodSchema = z.union(
  [
    z.strictObject({ months: z.int().min(1).max(1_200) }),
    z.strictObject({ days: z.int().min(1).max(36_500) }),
  ],
  { error: 'must be { months } or { days }, a whole number, 1 or more, and at most 100 years' },
)

const ruleFields = { prefix: prefixSchema, keep: periodSchema, by, reason: z.string().max(2_000).optional() }

/** Schema of a new rule. `force` allows it to keep less than six months. */
export const newRuleSchema = z.strictObject({ ...ruleFields, force: z.boolean().optional() })
export const endedRuleSchema = z.strictObject({ prefix: prefixSchema, by })

const retentionSchemas = {
  /** From now on, content of the conversations whose ids begin with `prefix` is kept for the period `keep`. */
  RetentionSet: z.object(ruleFields),
  /** The rule for `prefix` has ended. */
  RetentionEnded: z.object({ prefix: prefixSchema, by }),
  /** A process begins to erase what the rules no longer keep. */
  RetentionRunBegun: z.object({ by: by.optional() }),
  /**
   * The run that began at the revision `run` has ended: the number of conversations from which it erased content, the numbers of events
   * and contents, and the conversations in which it could not erase.
   */
  RetentionRunEnded: z.object({
    run: count,
    conversations: count,
    events: count,
    notes: count,
    turns: count,
    inbox: count,
    contents: count,
    skipped: z.array(z.string()),
    moreSkipped: count,
    isComplete: z.boolean(),
  }),
}

export type RetentionData = DataOf<typeof retentionSchemas>
export type RetentionFact = FactOf<typeof retentionSchemas, keyof typeof retentionSchemas>

export const retentionCodec: Codec<typeof retentionSchemas> = codecOf(retentionSchemas)

/** Time for which content is kept: months of the calendar (in UTC), or days of 24 hours. */
export type RetentionPeriod = { readonly months: number } | { readonly days: number }

/** Number of days in the longest six months of the calendar. */
const halfYear = 184

/** Reports whether a period is at least six months by the calendar, no matter when it begins. */
export const isHalfYear = (period: RetentionPeriod): boolean =>
  'months' in period ? period.months >= 6 : period.days >= halfYear

/**
 * Returns the time that lies a period before another one. If the month has no such day, it is the last day of that month: six months
 * before 31 August is the end of February.
 */
export const periodBefore = (period: RetentionPeriod, time: Date): Date => {
  if ('days' in period) return new Date(time.getTime() - period.days * 86_400_000)
  const before = new Date(time)
  before.setUTCMonth(before.getUTCMonth() - period.months)
  if (before.getUTCDate() !== time.getUTCDate()) before.setUTCDate(0)
  return before
}
