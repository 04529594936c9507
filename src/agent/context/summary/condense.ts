import { inspect } from 'node:util'
import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { isStale } from '../../../commands/rejections.ts'
import { blockSchema } from '../../../events/blocks.ts'
import { checkJson } from '../../../events/check.ts'
import { type Covers, type Origin, originSchema } from '../../../events/events.ts'
import type { Effective } from '../../../projections/effective.ts'
import type { ConversationHandle } from '../../../conversation/conversation.ts'
import { unwrap, run, type Fallible } from '../../../result/fallible.ts'
import type { ReadError, WriteError } from '../../../store/errors.ts'
import type { WriteResult } from '../../../conversation/writing/encode.ts'
import type { ContextGrew, NothingNew } from '../policy/errors.ts'
import { summaryFailed, type SummaryFailed } from './errors.ts'
import { modelAborted, orAborted } from '../../models/abort.ts'
import { failedCallOf, failuresIn } from '../../models/call-model.ts'
import type { FailedCall } from '../../models/model.ts'
import { checkCondensed } from '../policy/policy.ts'
import type { SummaryResult, Summarizer, SummaryError, SummaryInput } from './summarizer.ts'
import { isVisible } from './reply.ts'
import { receiptsOfSummary } from '../../receipts/summary-request.ts'

export interface CondenseTask extends SummaryInput {
  readonly summarizer: Summarizer
  /** The `condense` method of the conversation that `effective` was read from, which records the summary. */
  readonly condense: ConversationHandle['condense']
  /** With `markers`, markers and restores written after `effective.at` do not cause a refusal. */
  readonly tolerate?: 'markers' | undefined
  /**
   * The conversation's `context` method, which reads the current effective history. If given, later events do not cause a refusal as
   * long as the slice and the item after it are shown unchanged.
   */
  readonly context?: ConversationHandle['context'] | undefined
}
export type CondenseError = (SummaryError | NothingNew | ContextGrew | WriteError | ReadError) & {
  /** Failed calls to a model, including calls for a summary that was not recorded. */
  readonly failed?: readonly FailedCall[]
}

/**
 * Summarizes a slice and records the summary. If anything fails, nothing is written: the summary may be invalid (`SummaryFailed`), not
 * smaller than the slice (`ContextGrew`), or outdated because something was written after `effective.at` or, with `context`, because
 * the slice was changed (`StaleContext`). `NothingNew` is returned before the summarizer is called.
 */
export const condenseWith = (task: CondenseTask): Promise<E.Either<CondenseError, WriteResult>> =>
  run(condensing(task))

async function* condensing(task: CondenseTask): Fallible<CondenseError, WriteResult> {
  const { effective, covers, signal } = task
  yield* unwrap(checkCondensed(effective, covers, []))
  const input = { effective, covers, ...(signal && { signal }) }
  const summarized = yield* unwrap(asked(task.summarizer, input))
  const written = await run(record(task, summarized))
  const { origin } = summarized
  if (E.isRight(written) || !origin) return yield* unwrap(written)
  const error = written.left
  return yield {
    ...error,
    message: error.message,
    failed: [...failuresIn(origin), ...callsIn(origin, error)],
  }
}

/** Lists the calls made for a summary that was not recorded. The last one carries the usage of all calls. */
const callsIn = (origin: Origin, { _tag, message }: CondenseError): readonly FailedCall[] => {
  const { usage, ...told } = origin
  const parts = origin.context ? receiptsOfSummary(origin.context).slice(1) : []
  const of = { ...told, _tag, message }
  return [...parts.map(() => failedCallOf(of)), failedCallOf({ ...of, usage })]
}

/** Maximum number of retries if concurrent events prevent a summary from being recorded. */
const maxStale = 10

async function* record(
  { effective, covers, condense, tolerate, context }: CondenseTask,
  { blocks, origin }: SummaryResult,
): Fallible<CondenseError, WriteResult> {
  const summary = [{ role: 'user', content: blocks }] as const
  yield* unwrap(checkCondensed(effective, covers, summary))
  const more = { ...(origin && { origin }), ...(tolerate && { tolerate }) }
  let after = effective.at
  for (let stale = 0; ; stale++) {
    const written = await condense({ covers, summary, method: 'model', ...more, after })()
    if (!isStale(written) || !context || stale === maxStale) return yield* unwrap(written)
    const now = yield* unwrap(context())
    if (!isShownAsBefore(covers, effective, now)) return yield* unwrap(written)
    after = now.at
  }
}

/** Reports whether a slice and the item after it are shown unchanged, so that a summary of the slice is still accurate. */
const isShownAsBefore = ({ first, last }: Covers, before: Effective, now: Effective): boolean => {
  const from = (effective: Effective): readonly number[] => {
    const positions = effective.items.map(({ position }) => position)
    return positions.slice(positions.indexOf(first))
  }
  const shown = from(now)
  const earlier = from(before)
  return earlier.slice(0, earlier.indexOf(last) + 2).every((position, index) => position === shown[index])
}

/** Calls the user's summarizer. An exception becomes `SummaryFailed`; an abort becomes `ModelAborted`. */
const asked = async (
  summarizer: Summarizer,
  input: SummaryInput,
): Promise<E.Either<SummaryError, SummaryResult>> => {
  try {
    return summaryIn(await orAborted(summarizer(input), input.signal))
  } catch (cause) {
    if (input.signal?.aborted) return E.left(modelAborted(input.signal))
    const problem = cause instanceof Error ? `${cause.name}: ${cause.message}` : inspect(cause)
    return E.left(summaryFailed('threw', `the summarizer threw (${problem}): fix it, or truncate`, cause))
  }
}

/** Block types allowed in a summary: they make sense by themselves in a user message. Most others would be omitted from requests. */
const summaryTypes: ReadonlySet<string> = new Set(['text', 'image', 'document'])

/** Fields used to estimate the size of pictures and documents. */
const sourceSchema = z.object({
  data: z.string().optional(),
  content: z.union([z.string(), z.array(blockSchema)]).optional(),
})

const summarizedSchema = z.object({
  blocks: z.array(
    blockSchema
      .refine(({ type }) => summaryTypes.has(type), { error: 'must be a text, image or document' })
      .and(z.object({ source: sourceSchema.optional() })),
  ),
  origin: originSchema.optional(),
})

/** Extracts and checks the summary in a summarizer's answer. */
const summaryIn = (answer: unknown): E.Either<SummaryError, SummaryResult> => {
  if (isTagged(answer) && answer._tag === 'Left' && isTagged(answer.left))
    return E.left(answer.left as SummaryError)
  const given = isTagged(answer) && answer._tag === 'Right' ? answer.right : answer
  const checked = checkJson(summarizedSchema, given)
  if (E.isLeft(checked)) return E.left(noSummary('invalid', checked.left.message))
  const isShown = checked.right.blocks.some(({ type, text }) => type !== 'text' || isVisible(text))
  return isShown
    ? E.right(checked.right as SummaryResult)
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
    `the summarizer gave no summary (${problem}): a summary is { blocks } with text, image or document blocks, at least one of them not blank; fix the summarizer, or truncate`,
  )
