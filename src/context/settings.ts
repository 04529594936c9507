import * as E from 'fp-ts/lib/Either.js'
import { z } from 'zod'
import { check } from '../events/check.ts'
import { type InvalidInput, invalidInput } from '../events/errors.ts'
import type { DeepReadonly } from '../events/events.ts'

const tokens = z.int().min(1)
const percentage = z.number().min(5).max(100)

const settingsSchema = z.strictObject({
  /** The model's context window, in tokens. */
  window: tokens,
  /** The most tokens that the model may answer with. They are reserved in the window. */
  maxOutput: tokens.optional(),
  /** Tokens of the window reserved for the answer. Default `maxOutput`, else 8,192. */
  reserved: z.int().min(0).optional(),
  /** The share of the window that stays free, as counts are not exact; 0 ≤ buffer < 1. Default 0.1. */
  buffer: z.number().min(0).lt(1).optional(),
  /** Whether to condense without being asked. Default true. */
  automatic: z.boolean().optional(),
  /** Condense from this percentage of the window on, 5 to 100. Default 100: when the context would not fit. */
  percentage: percentage.optional(),
  /** Percentages of single models, by name; -1 is `percentage`. */
  profiles: z
    .record(
      z.string(),
      z.union([z.literal(-1), percentage], { error: 'is not -1 and not a percentage from 5 to 100' }),
    )
    .optional(),
  /** How many messages at the beginning always stay, at least the task. Default 1. */
  keepFirst: z.int().min(1).optional(),
  /** How many messages at the end stay; a truncation that cannot fit otherwise keeps the last one only. Default 3. */
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
  readonly keepFirst: number
  readonly keepLast: number
  readonly fraction: number
}

const defaultReserved = 8_192

export const limitsOf = (
  settings: ContextSettings,
  model: string | undefined,
): E.Either<InvalidInput, Limits> => {
  const checked = check(settingsSchema, settings)
  if (E.isLeft(checked)) return checked
  const { window, maxOutput, reserved = maxOutput ?? defaultReserved, buffer = 0.1 } = settings
  const { automatic = true, percentage: inherited = 100, profiles = {} } = settings
  const { keepFirst = 1, keepLast = 3, fraction = 0.5 } = settings
  const allowed = Math.floor(window * (1 - buffer)) - reserved
  if (allowed < 1)
    return E.left(
      invalidInput('window', `${window} tokens leave no room besides the buffer and ${reserved} of output`),
    )
  const { [model ?? '']: own = -1 } = profiles
  return E.right({
    window,
    allowed,
    automatic,
    percentage: own === -1 ? inherited : own,
    keepFirst,
    keepLast,
    fraction,
  })
}
