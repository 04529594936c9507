import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { blockSchema } from '../../events/blocks.ts'
import { checkJson } from '../../events/check.ts'
import { type Covers, originSchema } from '../../events/events.ts'
import type { Effective } from '../../projections/effective.ts'
import type { Conversation } from '../../conversation/conversation.ts'
import type { ReadError, WriteError } from '../../store/errors.ts'
import type { Written } from '../../history/encode.ts'
import type { ContextGrew, NothingNew } from '../policy/errors.ts'
import { summaryFailed, type SummaryFailed } from './errors.ts'
import { abortedBy, orAborted } from '../../models/aborted.ts'
import { failedCall, failedIn } from '../../models/asking.ts'
import type { FailedCall } from '../../models/model.ts'
import { checkCondensed } from '../policy/policy.ts'
import type { Summarized, Summarizer, SummaryError, SummaryInput } from './summarizer.ts'
import { isVisible } from './reply.ts'

export interface CondenseStep extends SummaryInput {
  readonly summarizer: Summarizer
  /** Writes the condense: `condense` of the conversation that `effective` is of. */
  readonly condense: Conversation['condense']
  /** `markers`: markers and restores that came since are no reason to refuse. */
  readonly tolerate?: 'markers'
  /**
   * Reads what is shown by now: `view` of the conversation. With it, what came since is no reason to refuse as long as the slice, and
   * what stands right behind it, are shown as they were.
   */
  readonly view?: Conversation['view']
}
export type CondenseError = (SummaryError | NothingNew | ContextGrew | WriteError | ReadError) & {
  /** The calls of a model in vain, those of a summary that was not recorded included. */
  readonly failed?: readonly FailedCall[]
}

/**
 * Condenses a slice: asks for a summary and records it, if it is one (else `SummaryFailed`), is smaller than what it stands for (else
 * `ContextGrew`) and nothing was written since `effective.at`, or, with `view`, nothing that changes the slice (else `StaleContext`).
 * Whatever fails, nothing is written; `NothingNew` is known before anyone is asked.
 */
export const condenseWith = async (step: CondenseStep): Promise<E.Either<CondenseError, Written>> => {
  const { effective, covers, signal } = step
  const worth = checkCondensed(effective, covers, [])
  if (E.isLeft(worth)) return worth
  const summarized = await asked(step.summarizer, { effective, covers, ...(signal && { signal }) })
  if (E.isLeft(summarized)) return summarized
  const written = await record(step, summarized.right)
  const { origin } = summarized.right
  if (E.isRight(written) || !origin) return written
  const error = written.left
  const failed = [...failedIn(origin), failedCall({ ...origin, _tag: error._tag, message: error.message })]
  return E.left({ ...error, message: error.message, failed })
}

/** How often a summary is recorded anew because something has happened meanwhile. */
const maxStale = 10

const record = async (
  { effective, covers, condense, tolerate, view }: CondenseStep,
  { blocks, origin }: Summarized,
): Promise<E.Either<CondenseError, Written>> => {
  const summary = [{ role: 'user', content: blocks }] as const
  const smaller = checkCondensed(effective, covers, summary)
  if (E.isLeft(smaller)) return smaller
  const more = { ...(origin && { origin }), ...(tolerate && { tolerate }) }
  let after = effective.at
  for (let stale = 0; ; stale++) {
    const written = await condense({ covers, summary, method: 'model', ...more, after })()
    const isStale = E.isLeft(written) && written.left._tag === 'StaleContext'
    if (!isStale || !view || stale === maxStale) return written
    const now = await view()()
    if (E.isLeft(now)) return now
    if (!isShownAsBefore(covers, effective, now.right)) return written
    after = now.right.at
  }
}

/** Whether a slice is shown as it was, and before what it was: what the summary says of it is as right as it was. */
const isShownAsBefore = ({ first, last }: Covers, before: Effective, now: Effective): boolean => {
  const from = (effective: Effective): readonly number[] => {
    const positions = effective.items.map(({ position }) => position)
    return positions.slice(positions.indexOf(first))
  }
  const shown = from(now)
  const earlier = from(before)
  return earlier.slice(0, earlier.indexOf(last) + 2).every((position, index) => position === shown[index])
}

/** Anyone's summarizer may throw. */
const asked = async (
  summarizer: Summarizer,
  input: SummaryInput,
): Promise<E.Either<SummaryError, Summarized>> => {
  try {
    return summaryIn(await orAborted(summarizer(input), input.signal))
  } catch (cause) {
    if (input.signal?.aborted) return E.left(abortedBy(input.signal))
    const problem = cause instanceof Error ? `${cause.name}: ${cause.message}` : inspect(cause)
    return E.left(summaryFailed('threw', `the summarizer threw (${problem}): mend it, or truncate`, cause))
  }
}

/** What stands for itself in a message of the user. Most of the rest would be left out of requests. */
const summaryTypes: ReadonlySet<string> = new Set(['text', 'image', 'document'])

/** As far as pictures and documents are measured by it. */
const sourceSchema = z.object({
  data: z.string().optional(),
  content: z.union([z.string(), z.array(blockSchema)]).optional(),
})

const summarizedSchema = z.object({
  blocks: z.array(
    blockSchema
      .refine(({ type }) => summaryTypes.has(type), { error: 'is no text, image or document' })
      .and(z.object({ source: sourceSchema.optional() })),
  ),
  origin: originSchema.optional(),
})

/** The summary in whatever a summarizer answered. */
const summaryIn = (answer: unknown): E.Either<SummaryError, Summarized> => {
  if (isTagged(answer) && answer._tag === 'Left' && isTagged(answer.left))
    return E.left(answer.left as SummaryError)
  const given = isTagged(answer) && answer._tag === 'Right' ? answer.right : answer
  const checked = checkJson(summarizedSchema, given)
  if (E.isLeft(checked)) return E.left(noSummary('invalid', checked.left.message))
  const isShown = checked.right.blocks.some(({ type, text }) => type !== 'text' || isVisible(text))
  return isShown
    ? E.right(checked.right as Summarized)
    : E.left(noSummary('blank', 'nothing in it is visible'))
}

interface Tagged {
  readonly _tag: unknown
  readonly left?: unknown
  readonly right?: unknown
}
const isTagged = (value: unknown): value is Tagged =>
  typeof value === 'object' && value !== null && '_tag' in value

const noSummary = (reason: string, problem: string): SummaryFailed =>
  summaryFailed(
    reason,
    `the summarizer gave no summary (${problem}): a summary is { blocks }, blocks of text, image or document, at least one of them not blank; mend the summarizer, or truncate`,
  )
