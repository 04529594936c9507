import { z } from 'zod'
import * as E from 'fp-ts/lib/Either.js'
import { type ContextSettings, limitsOf, settingsSchema } from '../agent/context/policy/settings.ts'
import { check } from '../events/check.ts'
import type { InvalidInput } from '../events/errors.ts'

/** A policy for managing the context in a replay. */
export interface ReplayPolicy {
  /** Name in a comparison. */
  readonly name?: string | undefined
  /** Context settings, as for a turn. */
  readonly context: ContextSettings
  /** `condense` (default): condense, and truncate if that does not help; `truncate`: never condense; `keep`: hide nothing. */
  readonly mode?: 'condense' | 'truncate' | 'keep' | undefined
  /** Tokens of a summary that the policy would have written. Default: the average of the recorded ones, else 500. */
  readonly summaryTokens?: number | undefined
  /** Show `[cleared]` in place of all tool results, except in the newest `keepLast` messages with results. */
  readonly clearResults?: { readonly keepLast: number } | undefined
  /** Lifetime of entries in the cache. Default: as recorded if the request is the same, else `5m`. */
  readonly cache?: '5m' | '1h' | undefined
}

export const policySchema = z.strictObject({
  name: z.string().min(1).optional(),
  context: settingsSchema,
  mode: z.enum(['condense', 'truncate', 'keep']).optional(),
  summaryTokens: z.int().min(1).optional(),
  clearResults: z.strictObject({ keepLast: z.int().min(0) }).optional(),
  cache: z.enum(['5m', '1h']).optional(),
})

/** Checks a policy. Errors: `InvalidInput`, also for a window that leaves no room. */
export const checkPolicy = (policy: unknown): E.Either<InvalidInput, ReplayPolicy> => {
  const checked = check(policySchema, policy)
  if (E.isLeft(checked)) return checked
  const limits = limitsOf(checked.right.context, undefined)
  return E.isLeft(limits) ? limits : checked
}
