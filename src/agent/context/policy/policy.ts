import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../../../events/errors.ts'
import type { Covers, Message } from '../../../events/events.ts'
import { type Effective, type Item, messagesOf } from '../../../projections/effective.ts'
import {
  contextGrew,
  type ContextGrew,
  contextTooLarge,
  type ContextTooLarge,
  nothingNew,
  type NothingNew,
} from './errors.ts'
import { estimate } from '../tokens/estimate.ts'
import { allowanceAfter, correctionFrom, type ContextRefusal } from './refusal.ts'
import type { TokenCorrection } from '../tokens/usage.ts'
import { coversOf, type Region, regionsOf } from './regions.ts'
import { sliceOf } from '../../../projections/effective.ts'
import { tokensSince } from '../tokens/said-since.ts'
import { type ContextSettings, type ContextLimits, limitsOf } from './settings.ts'
import { countTokens, type TokenCount } from '../tokens/tokens.ts'
import { planShortening, type ResultCut } from './plan-shortening.ts'
import { type TruncationResult, truncation } from './truncation.ts'

interface Measured {
  /** Tokens of the current request; `allowed` is the limit. */
  readonly used: number
  readonly allowed: number
  /** Tokens added to the conversation since the last attempt to condense, if there was one. */
  readonly said?: number
  /** Correction of our token estimates, derived from the API's refusal. */
  readonly learned?: TokenCorrection
}
/** Plan for the context before the next request: nothing, condense, truncate or shorten. */
export type ContextPlan =
  | (Measured & { readonly type: 'nothing' })
  /** Plan to replace the slice `covers` with a summary. The slice contains at least one message, and all of it may be hidden. */
  | (Measured & { readonly type: 'condense'; readonly covers: Covers })
  /** Plan to truncate these slices, in order. The context then fits or, after a refusal by the API, is smaller. */
  | (Measured & { readonly type: 'truncate'; readonly covers: readonly Covers[] })
  /** Plan to shorten the tool results of these items, because the items that may not be hidden are too large otherwise. */
  | (Measured & { readonly type: 'shorten'; readonly edits: readonly ResultCut[] })

/** Conditions of the decision, in addition to the history and the settings. */
export interface PolicyConditions {
  /** True unless condensing is impossible or has just failed. */
  readonly canCondense: boolean
  /** The API's refusal of the request, if it refused this history as too long. */
  readonly refused?: ContextRefusal | undefined
}

/** Minimum number of new tokens between two attempts to condense, as a fraction of the window. */
const wait = 0.1

/**
 * Decides whether and how to reduce the context, from the arguments alone. The plan never hides the first messages (the task), the
 * user's newest turn or the last items, and never separates a tool call from its result. Repeated planning terminates, because each
 * plan makes the history smaller: a slice to condense contains a message, and after a truncation the context fits.
 *
 * Between two attempts to condense, even if the first one failed, messages of at least a tenth of the window must have been added to
 * the log.
 *
 * @returns the plan; `InvalidInput` for invalid settings; `ContextTooLarge` if neither hiding everything that may be hidden nor
 * shortening results helps
 */
export const manageContext = (
  effective: Effective,
  settings: ContextSettings,
  { canCondense, refused }: PolicyConditions,
): E.Either<InvalidInput | ContextTooLarge, ContextPlan> => {
  const count = countTokens(effective)
  const checked = limitsOf(settings, count.model)
  if (E.isLeft(checked)) return checked
  const limits = checked.right
  const { total: used } = count
  const allowed = refused ? allowanceAfter(refused, used, settings) : limits.allowed
  const said = tokensSince(effective, count, limits.window)
  const learned = refused && correctionFrom(refused, count)
  const measured = { used, allowed, ...(said !== undefined && { said }), ...(learned && { learned }) }
  const isTooLarge = refused !== undefined || used > allowed
  const isDue = isTooLarge || (100 * used) / limits.window >= limits.percentage
  const hasWaited = said === undefined || said >= wait * limits.window
  const step = isTooLarge ? truncation(effective, limits, { count, allowed }) : undefined
  const countLeft = (edited: Effective): TokenCount => {
    const now = countTokens(edited)
    return now.total > allowed ? truncation(edited, limits, { count: now, allowed }).count : now
  }
  const shorter = (after: TruncationResult): E.Either<ContextTooLarge, ContextPlan> => {
    const { edits, count: left } = planShortening(effective, after, allowed, countLeft)
    return edits.length > 0 && (left.total <= allowed || refused)
      ? E.right({ type: 'shorten', ...measured, edits })
      : E.left(tooLarge(left, allowed))
  }
  // After a refusal, the API will tell whether a smaller reduction is enough.
  if (step && !refused && step.count.total > allowed) return shorter(step)
  const slice =
    canCondense && limits.automatic && isDue && hasWaited ? toCondense(effective, limits, count) : undefined
  if (slice) return E.right({ type: 'condense', ...measured, covers: slice })
  if (!step) return E.right({ type: 'nothing', ...measured })
  return step.covers.length > 0
    ? E.right({ type: 'truncate', ...measured, covers: step.covers })
    : shorter(step)
}

/**
 * Returns the slice to condense: the largest one that contains a message. If condensing that slice would leave more than the target,
 * fewer messages are kept at the end.
 */
const toCondense = (effective: Effective, limits: ContextLimits, count: TokenCount): Covers | undefined => {
  const size = ({ from, to }: Region): number => {
    let tokens = 0
    for (let index = from; index < to; index++) tokens += count.items[index]?.tokens ?? 0
    return tokens
  }
  const largest = (keepLast: number): Region | undefined =>
    regionsOf(effective, { ...limits, keepLast })
      .filter(({ from, to }) => effective.items.slice(from, to).some(isMessage))
      .toSorted((a, b) => size(b) - size(a))[0]
  for (let { keepLast } = limits; ; keepLast = Math.floor(keepLast / 2)) {
    const region = largest(keepLast)
    const isEnough = region && count.total - size(region) <= limits.target
    if (isEnough || keepLast === 1) return region && coversOf(effective, region.from, region.to)
  }
}

const isMessage = ({ kind }: Item): boolean => kind === 'message'

const tooLarge = ({ items, total, prompt }: TokenCount, allowed: number): ContextTooLarge =>
  contextTooLarge(
    total,
    allowed,
    prompt,
    items.toSorted((a, b) => b.tokens - a.tokens),
  )

/**
 * Checks that a summary may replace a slice, before the summary is recorded.
 *
 * @returns estimated tokens of the slice and of the summary; `NothingNew` if the slice holds no message (or is not shown),
 * `ContextGrew` if the summary is not smaller
 */
export const checkCondensed = (
  effective: Effective,
  covers: Covers,
  summary: readonly Message[],
): E.Either<NothingNew | ContextGrew, { readonly before: number; readonly after: number }> => {
  const hidden = sliceOf(effective, covers)
  if (!hidden.some(isMessage)) return E.left(nothingNew(covers))
  const before = estimate(hidden.flatMap(messagesOf).flatMap(({ content }) => content))
  const after = estimate(summary.flatMap(({ content }) => content))
  return after < before ? E.right({ before, after }) : E.left(contextGrew(covers, before, after))
}
