import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { check } from '../../events/check.ts'
import { type InvalidInput, invalidInput } from '../../events/errors.ts'
import type { DeepReadonly } from '../../events/events.ts'

const tokens = z.int().min(1)
const percents = z.number().min(5).max(100)

const settingsSchema = z.strictObject({
  /** The model's context window, in tokens. */
  window: tokens,
  /** The most tokens that the model may answer with. They are reserved in the window. */
  maxOutput: tokens.optional(),
  /** Tokens of the window reserved for the answer. Default `maxOutput`, else 8,192. */
  reserved: z.int().min(0).optional(),
  /** The share of the window that stays free, as counts are not exact; 0 ≤ buffer < 1. Default 0.1. */
  buffer: z.number().min(0).lt(1).optional(),
  /** Whether to condense without being asked. Default true; else a refusal of the API ends a turn, and what does not fit is truncated. */
  automatic: z.boolean().optional(),
  /** Condense from this percentage of the window on, 5 to 100. Default 100: when the context would not fit. */
  percentage: percents.optional(),
  /** Percentages of single models, by name; -1 is `percentage`. */
  profiles: z
    .record(
      z.string(),
      z.union([z.literal(-1), percents], { error: 'is not -1 and not a percentage from 5 to 100' }),
    )
    .optional(),
  /**
   * A condense leaves this share of the tokens from which on it is done, 0 < target ≤ 1, or less: where it takes that, it keeps fewer
   * messages at the end than `keepLast`. Default 0.5.
   */
  target: z.number().gt(0).max(1).optional(),
  /** How many messages at the beginning always stay, at least the task. Default 1. */
  keepFirst: z.int().min(1).optional(),
  /** How many messages at the end stay; fewer where the context does not become small enough otherwise. Default 3. */
  keepLast: z.int().min(1).optional(),
  /** The share of what may be hidden that a truncation hides, again until it fits; 0 < fraction ≤ 1. Default 0.5. */
  fraction: z.number().gt(0).max(1).optional(),
})

/** How large the context may grow, and what to do then. */
export type ContextSettings = DeepReadonly<z.infer<typeof settingsSchema>>

/** Settings with every default filled in, for one model. */
export interface Limits {
  readonly window: number
  /** Tokens that a request may have: the window without the buffer and the reserved output; ≥ 1. */
  readonly allowed: number
  readonly automatic: boolean
  readonly percentage: number
  /** Tokens that a condense should leave, or less. */
  readonly target: number
  readonly keepFirst: number
  readonly keepLast: number
  readonly fraction: number
}

const defaultReserved = 8_192

const reservedBy = ({ maxOutput, reserved }: ContextSettings): number =>
  reserved ?? maxOutput ?? defaultReserved

/** Tokens that a request may have in a window. */
export const allowedIn = (window: number, settings: ContextSettings): number =>
  Math.floor(window * (1 - (settings.buffer ?? 0.1))) - reservedBy(settings)

export const limitsOf = (
  settings: ContextSettings,
  model: string | undefined,
): E.Either<InvalidInput, Limits> => {
  const checked = check(settingsSchema, settings)
  if (E.isLeft(checked)) return checked
  const { window } = settings
  const { automatic = true, percentage: inherited = 100, profiles = {} } = settings
  const { keepFirst = 1, keepLast = 3, fraction = 0.5, target = 0.5 } = settings
  const allowed = allowedIn(window, settings)
  if (allowed < 1)
    return E.left(
      invalidInput(
        'window',
        `${window} tokens leave no room besides the buffer and ${reservedBy(settings)} of output`,
      ),
    )
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
