import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { check } from '../../../events/check.ts'
import { type InvalidInput, invalidInput } from '../../../events/errors.ts'
import type { Item } from '../../../projections/effective.ts'
import type { ModelRetryOptions } from '../../models/call-model.ts'
import { wellFormed } from '../../../projections/render/renderer.ts'
import {
  currentSummarizer,
  type SummaryOptions,
  summaryOptionsSchema,
} from '../../receipts/summary-request.ts'
import { longestTimer } from '../../../result/timers.ts'

const tooLong = `must be at most ${longestTimer} milliseconds (24 days)`

/** Selects the texts to preserve word for word from the items to be summarized. */
export type PinnedTextSelector = (items: readonly Item[]) => readonly string[]

/** Settings of a summarizer that calls a model. */
export interface SummarizerSettings {
  /** Model that writes the summaries; it may differ from the conversation's model. */
  readonly model: string
  /** The model's context window, in tokens. A tenth of it is kept free, because estimates are inexact. */
  readonly window: number
  /** Maximum tokens of a summary. Default 4,096. */
  readonly maxTokens?: number | undefined
  /** Instructions that replace the default ones. */
  readonly instructions?: string | undefined
  /** True if the model accepts pictures and documents; otherwise each is replaced with a note. Default true. */
  readonly images?: boolean | undefined
  /** Time limit for a whole summary, including all its parts, in milliseconds. Default: no limit. */
  readonly deadline?: number | undefined
  /** Milliseconds without any sign of a reply after which a call counts as stalled. Default 60,000. */
  readonly stallTimeout?: number | undefined
  /** Maximum number of retries of each call after transient failures. Default 3. */
  readonly maxRetries?: number | undefined
  /** Texts appended to the summary word for word, each as a separate block. Blank texts are omitted. */
  readonly pinned?: readonly string[] | PinnedTextSelector | undefined
}

export const settingsSchema = z.strictObject({
  model: z.string().min(1),
  window: z.int().min(1),
  maxTokens: z.int().min(1).optional(),
  instructions: summaryOptionsSchema.shape.instructions,
  images: z.boolean().optional(),
  deadline: z
    .int()
    .min(1)
    .max(longestTimer, { error: `${tooLong}: omit it for no limit` })
    .optional(),
  stallTimeout: z.int().min(1).max(longestTimer, { error: tooLong }).optional(),
  maxRetries: z.int().min(0).optional(),
  pinned: z
    .union(
      [z.array(z.string()).readonly(), z.custom<PinnedTextSelector>((value) => typeof value === 'function')],
      {
        error: 'must be an array of strings, or a function that returns one',
      },
    )
    .optional(),
})

/** Summarizer settings with all defaults filled in. */
export interface SummaryLimits {
  readonly model: string
  /** Maximum tokens of a request: 90 % of the window, minus `maxTokens`; ≥ 1. */
  readonly allowed: number
  readonly maxTokens: number
  readonly deadline: number | undefined
  readonly patience: Pick<ModelRetryOptions, 'stallTimeout' | 'maxRetries'>
  readonly pinned: PinnedTextSelector
  readonly options: Omit<SummaryOptions, 'covers'>
}

const defaultMaxTokens = 4_096
const buffer = 0.1

/** Fills in the defaults of the settings. Errors: `InvalidInput` for misspelt or impossible settings. */
export const summaryLimitsOf = (settings: SummarizerSettings): E.Either<InvalidInput, SummaryLimits> => {
  const checked = check(settingsSchema, settings)
  if (E.isLeft(checked)) return checked
  const { model, instructions } = wellFormed({ model: settings.model, instructions: settings.instructions })
  const { window, maxTokens = defaultMaxTokens, deadline, pinned = [] } = settings
  const { images = true, stallTimeout, maxRetries } = settings
  const allowed = Math.floor(window * (1 - buffer)) - maxTokens
  if (allowed < 1)
    return E.left(
      invalidInput(
        'window',
        `a window of ${window} tokens leaves no room for a request after the 10 % kept free and a summary of ${maxTokens} tokens: raise window, or lower maxTokens`,
      ),
    )
  return E.right({
    model,
    allowed,
    maxTokens,
    deadline,
    patience: {
      ...(stallTimeout !== undefined && { stallTimeout }),
      ...(maxRetries !== undefined && { maxRetries }),
    },
    pinned: typeof pinned === 'function' ? pinned : () => pinned,
    options: {
      summarizer: currentSummarizer,
      keyed: true,
      images,
      ...(instructions !== undefined && { instructions }),
    },
  })
}
