import * as E from 'fp-ts/lib/Either.js'
import type { InvalidInput } from '../events/errors.ts'
import type { Covers, Message } from '../events/events.ts'
import { type Effective, type Item, messagesOf } from '../projections/effective.ts'
import {
  contextGrew,
  type ContextGrew,
  contextTooLarge,
  type ContextTooLarge,
  nothingNew,
  type NothingNew,
} from './errors.ts'
import { estimate } from './estimate.ts'
import { coversOf, type Region, regionsOf, sliceOf, truncated } from './regions.ts'
import { type ContextSettings, type Limits, limitsOf } from './settings.ts'
import { countTokens, type TokenCount } from './tokens.ts'

interface Measured {
  /** Tokens of the request as it is, and what they may be. */
  readonly used: number
  readonly allowed: number
}
/** What to do with a context before the next request, tagged on `type`. */
export type Plan =
  | (Measured & { readonly type: 'nothing' })
  /** Show this slice as a summary. It holds at least one message, and is safe to hide. */
  | (Measured & { readonly type: 'condense'; readonly covers: Covers })
  /** Hide these slices, one after the other; then the context fits. */
  | (Measured & { readonly type: 'truncate'; readonly covers: readonly Covers[] })

/**
 * Whether the context has to become smaller, and how. Nothing that it hides is the task, the newest turn of the user, or the end;
 * no call is parted from its result. Deterministic. Each plan that is carried out makes the history smaller, and there is an end to it:
 * a slice to condense holds a message, and after a truncation the context fits.
 *
 * @param canCondense false where condensing has just failed, or cannot be done
 * @returns `InvalidInput` for settings that cannot be, `ContextTooLarge` where hiding all that may be hidden does not help
 */
export const manageContext = (
  effective: Effective,
  settings: ContextSettings,
  { canCondense }: { readonly canCondense: boolean },
): E.Either<InvalidInput | ContextTooLarge, Plan> => {
  const count = countTokens(effective)
  const checked = limitsOf(settings, count.model)
  if (E.isLeft(checked)) return checked
  const limits = checked.right
  const measured = { used: count.total, allowed: limits.allowed }
  const isTooLarge = count.total > limits.allowed
  const isDue = isTooLarge || (100 * count.total) / limits.window >= limits.percentage
  const slice = canCondense && limits.automatic && isDue ? toCondense(effective, limits, count) : undefined
  if (slice) return E.right({ type: 'condense', ...measured, covers: slice })
  return isTooLarge ? truncation(effective, limits, count) : E.right({ type: 'nothing', ...measured })
}

/** The largest slice that holds something new. */
const toCondense = (effective: Effective, limits: Limits, { items }: TokenCount): Covers | undefined => {
  const size = ({ from, to }: Region): number =>
    items.slice(from, to).reduce((sum, { tokens }) => sum + tokens, 0)
  const [largest] = regionsOf(effective, limits)
    .filter(({ from, to }) => effective.items.slice(from, to).some(isMessage))
    .toSorted((a, b) => size(b) - size(a))
  return largest && coversOf(effective, largest.from, largest.to)
}

const isMessage = ({ kind }: Item): boolean => kind === 'message'

/** A history with slices truncated that are named, and its tokens. */
interface Step {
  readonly effective: Effective
  readonly count: TokenCount
  readonly covers: readonly Covers[]
}

const truncation = (
  effective: Effective,
  limits: Limits,
  count: TokenCount,
): E.Either<ContextTooLarge, Plan> => {
  const { allowed } = limits
  let smallest: Step = { effective, count, covers: [] }
  for (const keepLast of new Set([limits.keepLast, 1])) {
    smallest = { effective, count, covers: [] }
    for (const region of regionsOf(effective, { ...limits, keepLast })) {
      const before = smallest
      for (const to of cutsOf(region, effective.items.length, limits.fraction)) {
        const step = hide(before, coversOf(effective, region.from, to))
        if (step.count.total < smallest.count.total) smallest = step
        if (smallest.count.total <= allowed)
          return E.right({ type: 'truncate', used: count.total, allowed, covers: smallest.covers })
      }
    }
  }
  const { items, total, prompt } = smallest.count
  const largest = items.toSorted((a, b) => b.tokens - a.tokens)
  return E.left(contextTooLarge(total, allowed, prompt, largest))
}

/** Where slices of a region end that hide the fraction of what is there, then the fraction of the rest, and so on. */
const cutsOf = ({ from, to, cutAt }: Region, length: number, fraction: number): readonly number[] => {
  const chosen = new Set<number>()
  for (let wished = from; wished < to;) {
    wished += Math.max(1, Math.floor(fraction * (length - wished)))
    chosen.add(cutAt(wished))
  }
  return [...chosen]
}

const hide = (step: Step, covers: Covers): Step => {
  // A truncation in place of truncations changes nothing, and is refused.
  if (sliceOf(step.effective, covers).every(({ kind }) => kind === 'truncation')) return step
  const effective = truncated(step.effective, covers)
  return { effective, count: countTokens(effective), covers: [...step.covers, covers] }
}

/**
 * Whether a summary may stand for a slice: to be asked before it is recorded.
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
