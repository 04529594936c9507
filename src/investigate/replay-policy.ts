import { z } from 'zod'
import * as E from 'fp-ts/lib/Either.js'
import { type ContextSettings, limitsOf, settingsSchema } from '../agent/context/policy/settings.ts'
import { check } from '../events/check.ts'
import type { InvalidInput } from '../events/errors.ts'

/** A policy for managing the context in a replay. */
export interface ReplayPolicy {
  /** Name of the policy in a comparison. */
  readonly name?: string | undefined
  /** Context settings, as in the options of a turn. */
  readonly context: ContextSettings
  /**
   * Way to make a request fit. `condense` (default): condense, and truncate if condensing fails; `truncate`: never condense; `keep`:
   * hide nothing.
   */
  readonly mode?: 'condense' | 'truncate' | 'keep' | undefined
  /** Tokens of each summary that the policy would have written. Default: the average of the recorded summaries, or 500. */
  readonly summaryTokens?: number | undefined
  /**
   * Setting to show `[cleared]` instead of tool results, except in the newest `keepLast` messages with results. Default: show all
   * results.
   */
  readonly clearResults?: { readonly keepLast: number } | undefined
  /** Lifetime of cache entries. Default: as recorded for an unchanged request, otherwise `5m`. */
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

/** Checks a policy. Errors: `InvalidInput`, also if the context window leaves no room for messages. */
export const checkPolicy = (policy: unknown): E.Either<InvalidInput, ReplayPolicy> => {
  const checked = check(policySchema, policy)
  if (E.isLeft(checked)) return checked
  const limits = limitsOf(checked.right.context, undefined)
  return E.isLeft(limits) ? limits : checked
}
