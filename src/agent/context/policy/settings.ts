import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { check } from '../../../events/check.ts'
import { type InvalidInput, invalidInput } from '../../../events/errors.ts'

const tokens = z.int().min(1)
const percents = z.number().min(5).max(100)

/** Settings for the maximum size of the context, and for condensing and truncating to stay below it. */
export interface ContextSettings {
  /** The model's context window, in tokens. */
  readonly window: number
  /** Maximum tokens of the model's answer; reserved in the window unless `reserved` is given. */
  readonly maxOutput?: number | undefined
  /** Tokens of the window reserved for the answer. Default: `maxOutput`, else 8,192. */
  readonly reserved?: number | undefined
  /** Fraction of the window kept free because token counts are inexact; 0 ≤ buffer < 1. Default 0.1. */
  readonly buffer?: number | undefined
  /** True to condense automatically (the default). If false, excess content is truncated, and a refusal by the API ends the turn. */
  readonly automatic?: boolean | undefined
  /** Percentage of the window at which condensing starts, 5 to 100. Default 100: only when the context would not fit. */
  readonly percentage?: number | undefined
  /** Percentages for individual models, by name; -1 means `percentage`. */
  readonly profiles?: { readonly [model: string]: number } | undefined
  /**
   * Maximum size of the context after a condense, as a fraction of the size at which condensing starts; 0 < target ≤ 1. If necessary,
   * fewer messages than `keepLast` are kept at the end. Default 0.5.
   */
  readonly target?: number | undefined
  /** Number of messages always kept at the beginning, at least 1 (the task). Default 1. */
  readonly keepFirst?: number | undefined
  /** Number of messages kept at the end; fewer are kept if the context would not fit otherwise. Default 3. */
  readonly keepLast?: number | undefined
  /**
   * Fraction of the items after the kept first messages that a truncation hides; repeated until the context fits. 0 < fraction ≤ 1.
   * Default 0.5.
   */
  readonly fraction?: number | undefined
}

export const settingsSchema = z.strictObject({
  window: tokens,
  maxOutput: tokens.optional(),
  reserved: z.int().min(0).optional(),
  buffer: z.number().min(0).lt(1).optional(),
  automatic: z.boolean().optional(),
  percentage: percents.optional(),
  profiles: z
    .record(
      z.string(),
      z.union([z.literal(-1), percents], { error: 'must be -1 or a percentage from 5 to 100' }),
    )
    .optional(),
  target: z.number().gt(0).max(1).optional(),
  keepFirst: z.int().min(1).optional(),
  keepLast: z.int().min(1).optional(),
  fraction: z.number().gt(0).max(1).optional(),
})

/** Context settings for one model, with all defaults filled in. */
export interface ContextLimits {
  readonly window: number
  /** Maximum tokens of a request: the window minus the buffer and the reserved output; ≥ 1. */
  readonly allowed: number
  readonly automatic: boolean
  readonly percentage: number
  /** Maximum tokens that should remain after a condense. */
  readonly target: number
  readonly keepFirst: number
  readonly keepLast: number
  readonly fraction: number
}

const defaultReserved = 8_192
const defaultBuffer = 0.1

const reservedBy = ({ maxOutput, reserved }: ContextSettings): number =>
  reserved ?? maxOutput ?? defaultReserved

/** Returns the maximum tokens of a request for a window of this size. */
export const allowanceIn = (window: number, settings: ContextSettings): number =>
  Math.floor(window * (1 - (settings.buffer ?? defaultBuffer))) - reservedBy(settings)

/** Returns the smallest window, in tokens, that leaves room for a request. */
const leastWindow = (reserved: number, buffer: number = defaultBuffer): number =>
  Math.ceil((reserved + 1) / (1 - buffer))

const noRoom = (settings: ContextSettings): string => {
  const { window, buffer } = settings
  const reserved = reservedBy(settings)
  const most = allowanceIn(window, { ...settings, reserved: 0 }) - 1
  const less = most < 0 ? '' : `, or \`reserved\` ${most} or less`
  return `${window} tokens leave no room for a request after the buffer and ${reserved} tokens of output: make it ${leastWindow(reserved, buffer)} or more${less}`
}

export const limitsOf = (
  settings: ContextSettings,
  model: string | undefined,
): E.Either<InvalidInput, ContextLimits> => {
  const checked = check(settingsSchema, settings)
  if (E.isLeft(checked)) return checked
  const { window } = settings
  const { automatic = true, percentage: inherited = 100, profiles = {} } = settings
  const { keepFirst = 1, keepLast = 3, fraction = 0.5, target = 0.5 } = settings
  const allowed = allowanceIn(window, settings)
  if (allowed < 1) return E.left(invalidInput('window', noRoom(settings)))
  const { [model ?? '']: own = -1 } = profiles
  const percentage = own === -1 ? inherited : own
  return E.right({
    window,
    allowed,
    automatic,
    percentage,
    target: target * Math.min(allowed, (percentage * window) / 100),
    keepFirst,
    keepLast,
    fraction,
  })
}
