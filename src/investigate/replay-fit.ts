import * as E from 'fp-ts/lib/Either.js'
import {
  checkCondensed,
  type PolicyConditions,
  manageContext,
  type ContextPlan,
} from '../agent/context/policy/policy.ts'
import type { ContextSettings } from '../agent/context/policy/settings.ts'
import { shortResults } from '../agent/context/policy/shortening.ts'
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
import { type UsageCounts, countsIn, inputOf, noUsage } from '../agent/turn/spending/usage.ts'
import type { ReplayBuilder } from './replayed-history.ts'

/** A marker that the recorded policy wrote. */
export type PolicyMarker = ConversationEvent<'Condensed' | 'Truncated'>

/** Whether a marker is of this type, and covers just these. */
export const hides =
  (type: PolicyMarker['type'], { first, last }: Covers) =>
  (marker: PolicyMarker): boolean =>
    marker.type === type && marker.data.covers.first === first && marker.data.covers.last === last

/** How to make one request fit. */
export interface Fit {
  readonly settings: ContextSettings
  readonly mode: 'condense' | 'truncate' | 'keep'
  readonly summaryTokens: number
  readonly clearResults?: { readonly keepLast: number } | undefined
  /** What the recorded policy wrote before this call; taken where the same would be written. */
  readonly recorded: readonly PolicyMarker[]
  /** Decide as the recorded policy did, failures of summaries and refusals included. */
  readonly asRecorded: boolean
}

/** What a summary took: as recorded, else what it would be made of and its own size; by the model that wrote it, else by the one that is called. */
export interface SummaryUsage {
  readonly counts: UsageCounts
  readonly model?: string | undefined
}

/** What was written to make a request fit. */
export interface FitReport {
  readonly condensed: number
  readonly truncated: number
  readonly edited: number
  /** The summaries that a model wrote, or would have written. */
  readonly summarized: readonly SummaryUsage[]
}

export const nothingFitted: FitReport = { condensed: 0, truncated: 0, edited: 0, summarized: [] }

/** A policy needs so many steps at most: what it hides makes the context smaller each time. */
const mostSteps = 100

/** Writes what the policy would have written before the request of the history at `at`. */
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
      // One that is larger than all there is, is refused whatever its size.
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

/** What decided at the recorded marker that comes next; after the last one, what decided there. */
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

/** No context holds more tokens, whatever a usage says. */
const mostStandIn = 10_000_000

/** A text of about so many tokens, in place of one that nobody wrote or recorded. */
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

/** The edits that clear all tool results but those of the newest so many messages. */
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
