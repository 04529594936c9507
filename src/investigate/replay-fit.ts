import * as E from 'fp-ts/lib/Either.js'
import {
  checkCondensed,
  type PolicyConditions,
  manageContext,
  type ContextPlan,
} from '../agent/context/policy/policy.ts'
import type { ContextSettings } from '../agent/context/policy/settings.ts'
import { shortResults } from '../agent/context/policy/plan-shortening.ts'
import { estimate } from '../agent/context/tokens/estimate.ts'
import { isBlock, textBlock } from '../events/blocks.ts'
import type { Block } from '../events/block-types.ts'
import type { CondensedData } from '../events/event-types.ts'
import { factsOf } from '../commands/hide.ts'
import type { ConversationEvent, Covers, Message, Policy } from '../events/events.ts'
import {
  type Effective,
  type Item,
  itemOf,
  messageIn,
  messagesOf,
  sliceOf,
} from '../projections/effective.ts'
import { type UsageCounts, countsIn, inputOf, noUsage } from '../agent/models/usage.ts'
import type { ReplayBuilder } from './replayed-history.ts'

/** A marker that the recorded context policy wrote. */
export type PolicyMarker = ConversationEvent<'Condensed' | 'Truncated'>

/** Returns a predicate that is true for markers of this type that cover exactly this slice. */
export const hides =
  (type: PolicyMarker['type'], { first, last }: Covers) =>
  (marker: PolicyMarker): boolean =>
    marker.type === type && marker.data.covers.first === first && marker.data.covers.last === last

/** Settings for fitting one request into the context limit. */
export interface Fit {
  readonly settings: ContextSettings
  readonly mode: 'condense' | 'truncate' | 'keep'
  readonly summaryTokens: number
  readonly clearResults?: { readonly keepLast: number } | undefined
  /** Markers that the recorded policy wrote before this call. A marker is reused if the replay would write the same one. */
  readonly recorded: readonly PolicyMarker[]
  /** True to repeat the decisions of the recorded policy, including failed summaries and refusals. */
  readonly asRecorded: boolean
}

/**
 * Usage of a summary. `counts`: as recorded, or otherwise estimated from the covered items and the summary's size; `model`: the model
 * that wrote the summary, or otherwise the model of the call.
 */
export interface SummaryUsage {
  readonly counts: UsageCounts
  readonly model?: string | undefined
}

/** Numbers of markers written to make a request fit. */
export interface FitReport {
  readonly condensed: number
  readonly truncated: number
  readonly edited: number
  /** Usage of the summaries that a model wrote or would have written. */
  readonly summarized: readonly SummaryUsage[]
}

export const nothingFitted: FitReport = { condensed: 0, truncated: 0, edited: 0, summarized: [] }

/** Maximum number of steps for one request. Each step hides something and makes the context smaller. */
const mostSteps = 100

/** Adds to the replay the markers that the policy would have written before the request for the history that ends with `last`. */
export const fitInto = (replay: ReplayBuilder, last: ConversationEvent, fit: Fit): FitReport => {
  const { position: at } = last
  const done = {
    condensed: 0,
    truncated: 0,
    edited: 0,
    summarized: [] as SummaryUsage[],
  }
  const left = [...fit.recorded]
  let written = 0
  let canCondense = fit.mode === 'condense'
  const write = (
    type: PolicyMarker['type'],
    covers: Covers,
    more: { readonly summary?: readonly Message[]; readonly policy?: Policy },
  ): void => {
    const same = left.findIndex(hides(type, covers))
    const [recorded] = same < 0 ? [] : left.splice(same, 1)
    if (recorded?.type === 'Condensed' && recorded.data.method === 'model')
      done.summarized.push(summarizedIn(recorded.data))
    const hidden = recorded ? [] : sliceOf(replay.effectiveAt(at), covers)
    const event = recorded ?? markerAt(last, at + ++written / 1_000, type, hidden, more)
    const item = itemOf(event)
    if (item) replay.add(event, item)
    const isEdit = item?.kind === 'summary' && messageIn(item) !== undefined
    done[isEdit ? 'edited' : type === 'Condensed' ? 'condensed' : 'truncated']++
  }
  if (fit.clearResults)
    for (const edit of clearedResults(replay.effectiveAt(at), fit.clearResults.keepLast))
      write('Condensed', edit.covers, edit)
  for (let step = 0; step < mostSteps && fit.mode !== 'keep'; step++) {
    const now = replay.effectiveAt(at)
    const circumstances = fit.asRecorded ? circumstancesOf(left, fit.recorded) : { canCondense }
    const settings = (fit.asRecorded && left[0]?.data.policy?.settings) || fit.settings
    const planned = manageContext(now, settings as ContextSettings, circumstances)
    if (E.isLeft(planned) || planned.right.type === 'nothing') break
    if (fit.asRecorded && left.length === 0) break
    const plan = planned.right
    const policy = policyOf(now, plan, fit.settings)
    if (plan.type === 'truncate') for (const covers of plan.covers) write('Truncated', covers, { policy })
    else if (plan.type === 'shorten') {
      for (const { covers, bytes } of plan.edits) {
        const item = now.items.find(({ position }) => position === covers.first)
        const content = item && shortResults(item, { bytes, rest: 'recorded' })
        if (content) write('Condensed', covers, { ...summaryOf(content, 'client'), policy })
      }
    } else {
      // A summary larger than the whole context is refused at any size, so the stand-in need not be larger.
      const tokens = Math.min(fit.summaryTokens, plan.used)
      const summary = summaryOf(standIn(tokens, 'A summary that was not written. '), 'model')
      const isTaken = left.some(hides('Condensed', plan.covers))
      const sizes = checkCondensed(now, plan.covers, summary.summary)
      if (!isTaken && E.isLeft(sizes)) {
        canCondense = false
        continue
      }
      if (!isTaken && E.isRight(sizes)) done.summarized.push(ofSize(sizes.right))
      write('Condensed', plan.covers, { ...summary, policy })
    }
  }
  return done
}

const summarizedIn = ({ origin, tokens }: CondensedData): SummaryUsage => {
  const counts = countsIn(origin?.usage)
  return inputOf(counts) > 0 ? { counts, model: origin?.model } : ofSize(tokens)
}

const ofSize = ({ before, after }: CondensedData['tokens']): SummaryUsage => ({
  counts: { ...noUsage, cacheWrite1h: 0, input: before, output: after },
})

/** Returns the recorded conditions of the next marker, or of the last one if no marker is left. */
const circumstancesOf = (left: readonly PolicyMarker[], all: readonly PolicyMarker[]): PolicyConditions => {
  const { policy } = (left[0] ?? all.at(-1))?.data ?? {}
  return { canCondense: true, ...(policy?.options as Partial<PolicyConditions> | undefined) }
}

const policyOf = (
  { at }: Effective,
  { used, allowed, said }: ContextPlan,
  settings: ContextSettings,
): Policy => ({
  of: 'context',
  used,
  allowed,
  position: at,
  settings: { ...settings },
  ...(said !== undefined && { said }),
})

const summaryOf = (content: readonly Block[], method: 'model' | 'client') => ({
  summary: [{ role: 'user' as const, content }],
  method,
})

/** Maximum tokens of a stand-in text. No context holds more, even if a recorded usage is larger. */
const mostStandIn = 10_000_000

/** Returns a text of about `tokens` tokens that stands in for a text that was not written or not recorded. */
export const standIn = (tokens: number, text: string): readonly Block[] => {
  const one = estimate([textBlock(text)])
  return [textBlock(text.repeat(Math.max(1, Math.round(Math.min(tokens, mostStandIn) / one))))]
}

const markerAt = (
  { metadata }: ConversationEvent,
  position: number,
  type: PolicyMarker['type'],
  hidden: readonly Item[],
  more: { readonly summary?: readonly Message[] },
): PolicyMarker =>
  ({
    type,
    position,
    id: `replayed-${position}`,
    metadata,
    data: { ...factsOf(hidden, more.summary ?? []), ...more },
  }) as PolicyMarker

const cleared = '[cleared]'

/** Returns the edits that clear all tool results except in the newest `keepLast` messages with results. */
const clearedResults = (now: Effective, keepLast: number) =>
  now.items
    .filter((item) => messageIn(item)?.content.some((block) => isBlock(block, 'tool_result')))
    .slice(0, keepLast === 0 ? undefined : -keepLast)
    .flatMap((item) => {
      const content = messagesOf(item).flatMap((message) => message.content.map(clearedBlock))
      const isDone = JSON.stringify(content) === JSON.stringify(messageIn(item)?.content)
      const covers = { first: item.position, last: item.position }
      return isDone ? [] : [{ covers, ...summaryOf(content, 'client') }]
    })

const clearedBlock = (block: Block): Block =>
  isBlock(block, 'tool_result') ? { ...block, content: cleared } : block
