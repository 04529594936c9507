import { configurationOf, type Effective, type Item, messagesOf } from '../../../projections/effective.ts'
import { createListMap } from '../../../projections/memo.ts'
import {
  isCompaction,
  isThinking,
  prefixUnchanged,
  utterancesIn,
} from '../../../projections/render/renderer.ts'
import { estimate } from './estimate.ts'
import type { TokenCorrection } from './usage.ts'
import { type UsageAnchor, anchorsOf } from './usage.ts'

/** Tokens of each item of a history: counted by the API where possible, else estimated. */
export interface Measure {
  /** Tokens of each item, by index; `isCounted` is true for each item that the API counted. */
  readonly tokens: readonly number[]
  readonly isCounted: readonly boolean[]
  readonly anchors: readonly UsageAnchor[]
  /** Last reply whose recorded usage still describes the shown content. */
  readonly valid: UsageAnchor | undefined
  readonly model: string | undefined
  /** Ratio of actual to estimated tokens in this model's earlier requests. */
  readonly correction: number
}

/**
 * Counts or estimates the tokens of each item in a history.
 *
 * @param start index of the first item that is sent; earlier items count as 0
 */
export const measure = (effective: Effective, start = sentFrom(effective)): Measure => {
  const shown = shownIn(effective, start)
  const anchors = anchorsOf(effective).filter(({ from }) => from >= start)
  const model = configurationOf(effective).model ?? anchors.at(-1)?.model
  const gaps = gapsOf(effective, anchors)
  const correction = correctionOf(
    gaps.filter(({ reply }) => isOf(model, reply)),
    shown,
    learnedIn(effective, model),
  )
  const tokens = shown.map(({ estimated }) => Math.round(correction * estimated))
  const isCounted = shown.map(() => false)
  const valid = anchors.findLast(({ from }) => shown[from]?.unchanged === true)
  isCounted.fill(true, 0, valid?.to ?? 0)
  const note = (from: number, to: number): void => {
    if (to > (valid?.to ?? 0)) isCounted.fill(true, from, to)
  }
  for (const reply of anchors) {
    spread(tokens, reply.from, reply.to, outputOf(reply, shown, tokens))
    note(reply.from, reply.to)
  }
  for (const { reply, end, tokens: counted } of gaps) {
    // The tokens of an unfinished reply are known only together with those of the items after it.
    if (reply.finished) spread(tokens, reply.to, end, Math.max(0, counted - reply.output))
    else spread(tokens, reply.from, end, counted)
    note(reply.to, end)
  }
  return { tokens, isCounted, anchors, valid, model, correction }
}

/** Scales the tokens at indices `from` up to, but not including, `to` so that they add up to `total`, keeping their proportions. */
export const spread = (tokens: number[], from: number, to: number, total: number): void => {
  if (to - from === 1) {
    tokens[from] = Math.round(total)
    return
  }
  const before = tokens.slice(from, to)
  const whole = sum(before)
  let seen = 0
  let given = 0
  for (const [index, part] of before.entries()) {
    seen += part
    const upTo = whole > 0 ? Math.round((total * seen) / whole) : index === before.length - 1 ? total : 0
    tokens[from + index] = upTo - given
    given = upTo
  }
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

// If the configured model is an alias, replies name the dated model.
const isOf = (model: string | undefined, reply: UsageAnchor): boolean =>
  model === undefined || reply.model === undefined || reply.model.startsWith(model)

/** Estimated tokens and kind of the content that an item shows to the model. */
interface Shown {
  readonly estimated: number
  /** True if everything before the item is still shown as it was when the item was written. */
  readonly unchanged: boolean
  readonly thinks: boolean
}

const shownIn = (effective: Effective, start: number): readonly Shown[] => {
  const unchanged = prefixUnchanged(effective)
  const ways = rememberedWays(effective.items, waysToShow)
  return effective.items.map((item, index) => {
    const { whole, spoken } = (index < start ? undefined : ways[index]) ?? nothing
    return unchanged(item) ? whole : spoken
  })
}

/** Content that an item shows, measured with its thinking (`whole`) and without it (`spoken`). */
interface Ways {
  readonly whole: Shown
  readonly spoken: Shown
}
const nothing: Ways = {
  whole: { estimated: 0, unchanged: true, thinks: false },
  spoken: { estimated: 0, unchanged: false, thinks: false },
}

const rememberedWays = createListMap<Item, Ways>()

/** Estimates the tokens that an item shows to the model if everything before it is as it was when the item was written. */
export const estimateItem = (item: Item): { readonly estimated: number; readonly thinks: boolean } =>
  waysToShow(item).whole

const waysToShow = (item: Item): Ways => {
  const blocks = utterancesIn(item, true, true).flatMap(({ content }) => content)
  const thoughts = blocks.filter(isThinking)
  const thinks = thoughts.length > 0
  const spoken = estimate(blocks.filter((block) => !isThinking(block)))
  return {
    whole: { estimated: spoken + estimate(thoughts), unchanged: true, thinks },
    spoken: { estimated: spoken, unchanged: false, thinks },
  }
}

/** Returns the index of the newest compaction by the API, which ignores everything before it; 0 if there is no compaction. */
const sentFrom = ({ items }: Effective): number =>
  Math.max(
    0,
    items.findLastIndex(
      (item) => item.kind === 'summary' && messagesOf(item).some(({ content }) => content.some(isCompaction)),
    ),
  )

/** Reply and the items after it, up to the next reply at index `end`, with the API's token count for all of them. */
interface Gap {
  readonly reply: UsageAnchor
  readonly end: number
  readonly tokens: number
}

/**
 * Returns the gaps whose tokens follow from the API's counts for two successive replies: nothing before the gap changed between the
 * replies, and every item in the gap is shown.
 */
const gapsOf = ({ items, layout }: Effective, anchors: readonly UsageAnchor[]): readonly Gap[] => {
  const changes = [
    ...items.filter(({ kind }) => kind !== 'message').map(({ position }) => position),
    ...layout.restored.flatMap(({ after, before }) => [after, before]),
    layout.promptSince ?? -1,
  ].toSorted((a, b) => a - b)
  const isSame = (from: number, to: number): boolean => !changes.some((at) => from < at && at < to)
  const gaps: Gap[] = []
  for (const [index, next] of anchors.entries()) {
    const reply = anchors[index - 1]
    if (!reply || next.input <= reply.input || !isSame(reply.position, next.position)) continue
    let end = reply.from
    while (end < next.from && items[end]?.kind === 'message') end++
    if (end === next.from) gaps.push({ reply, end: next.from, tokens: next.input - reply.input })
  }
  return gaps
}

// Number of estimated tokens that are assumed to be exact, so that little evidence changes the estimates only slightly.
const trust = 2_000

/**
 * Returns the corrections of our estimates that follow from the API's refusals for this model. Only markers that are still shown are
 * considered.
 */
const learnedIn = ({ items }: Effective, model: string | undefined): readonly TokenCorrection[] => {
  const found: TokenCorrection[] = []
  for (const item of items) {
    const learned = item.kind === 'message' ? undefined : item.policy?.learned
    if (learned && learned.model === model) found.push(learned)
  }
  return found
}

const correctionOf = (
  gaps: readonly Gap[],
  shown: readonly Shown[],
  learned: readonly TokenCorrection[],
): number => {
  let [actual, estimated] = [trust, trust]
  for (const refused of learned) {
    actual += refused.actual
    estimated += refused.estimated
  }
  for (const { reply, end, tokens } of gaps) {
    const { from, to, output, finished } = reply
    // The recorded thinking may be only a summary of the actual thinking.
    if (!finished && isAny(shown, from, to, ({ thinks }) => thinks)) continue
    actual += finished ? Math.max(0, tokens - output) : tokens
    for (let index = finished ? to : from; index < end; index++) estimated += shown[index]?.estimated ?? 0
  }
  return Math.min(2, Math.max(0.5, actual / estimated))
}

const outputOf = (
  { from, to, output, finished }: UsageAnchor,
  shown: readonly Shown[],
  tokens: readonly number[],
): number => {
  // The API's count does not apply to the rest of a reply whose thinking can no longer be sent.
  const isLess = isAny(shown, from, to, ({ thinks, unchanged }) => thinks && !unchanged)
  if (finished && !isLess) return output
  const estimated = sum(tokens.slice(from, to))
  return isLess ? estimated : Math.max(output, estimated)
}

/**
 * Reports whether the predicate holds for any element from index `from` up to, but not including, `to`. Makes no copy, because it is
 * called for every shown reply.
 */
const isAny = (all: readonly Shown[], from: number, to: number, is: (one: Shown) => boolean): boolean => {
  for (let index = from; index < to; index++) {
    const one = all[index]
    if (one && is(one)) return true
  }
  return false
}
