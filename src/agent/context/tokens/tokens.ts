import { memo } from '../../../projections/memo.ts'
import { configurationOf, type Effective, type Item } from '../../../projections/effective.ts'
import { toolsOf } from '../../../projections/render/renderer.ts'
import { measure, type Measure, spread, sum } from './measure.ts'
import { estimatePrompt } from './estimate.ts'
import { tokensIn } from '../../models/usage.ts'
import type { UsageAnchor } from './usage.ts'

/** Token count of the item at `position`. */
export interface ItemTokens {
  readonly position: number
  readonly tokens: number
}

/**
 * Token count of a request with this effective history, without the answer.
 *
 * 1. `total` is `prompt` plus the tokens of all items. All are integers ≥ 0.
 * 2. If there is an `anchor`, the prompt and the items up to and including the anchored reply add up to the API's count.
 */
export interface TokenCount {
  readonly total: number
  /** Tokens of `total` that the API has not counted. */
  readonly estimated: number
  /** Tokens of the system prompt and the tools: the API's count minus the items, else an estimate. */
  readonly prompt: number
  readonly items: readonly ItemTokens[]
  /** Position of the last reply whose recorded usage still describes the shown content. */
  readonly anchor?: number
  /** Model that the count is for: the configured model, else the model of the last reply. */
  readonly model?: string
  /** Factor applied to the estimates: ratio of actual to estimated tokens in the model's earlier requests, from 0.5 to 2. */
  readonly correction: number
}

/**
 * Counts the tokens of the next request from the API's counts for earlier replies, and estimates the rest: items after the last reply,
 * and items that a marker has changed since. The same effective history always has the same count, whether folded or loaded. Details:
 * docs/adr/0010-counting-tokens.md.
 */
export const countTokens = memo((effective: Effective): TokenCount => {
  const measured = measure(effective)
  const { valid, model, correction } = measured
  const tokens = [...measured.tokens]
  const prompt = valid ? settle(tokens, valid) : Math.round(promptOf(effective, measured))
  let estimated = valid ? 0 : prompt
  for (let index = valid?.to ?? 0; index < tokens.length; index++)
    if (!measured.isCounted[index]) estimated += tokens[index] ?? 0
  return {
    total: prompt + sum(tokens),
    estimated,
    prompt,
    items: effective.items.map(({ position }, index) => ({ position, tokens: tokens[index] ?? 0 })),
    ...(valid && { anchor: valid.position }),
    ...(model !== undefined && { model }),
    correction,
  }
})

/**
 * Returns the prompt's tokens: the API's count of a reply's input, minus the items before the reply. If those items exceed the API's
 * count, `tokens` is scaled down.
 */
const settle = (tokens: number[], { from, input }: UsageAnchor): number => {
  const before = sum(tokens.slice(0, from))
  if (before > input) spread(tokens, 0, from, input)
  return Math.max(0, input - before)
}

/** Returns the prompt's tokens if no reply's usage describes the currently shown content. */
const promptOf = (effective: Effective, { anchors, tokens, correction }: Measure): number => {
  const { items } = effective
  const { system } = configurationOf(effective)
  const { tools } = toolsOf(effective)
  if (system !== undefined || tools !== undefined) return correction * estimatePrompt(system, tools)
  // The prompt is not recorded, but an earlier count included it, together with items that a marker has hidden since.
  const asOf = (position: number, held: (item: Item, index: number) => boolean): number =>
    sum(
      items.map((item, index) => {
        if (!held(item, index)) return 0
        const isSince = item.kind !== 'message' && item.position >= position
        return isSince ? correction * item.tokens.before : (tokens[index] ?? 0)
      }),
    )
  const reply = anchors.at(-1)
  if (reply) return Math.max(0, reply.input - asOf(reply.position, (_, index) => index < reply.from))
  const summary = items.findLast((item) => item.kind === 'summary')
  const context = tokensIn(summary?.origin?.usage ?? {}, 'tokens_before')
  const at = summary?.position ?? -1
  return Math.max(0, context - asOf(at, ({ position }) => position <= at))
}
