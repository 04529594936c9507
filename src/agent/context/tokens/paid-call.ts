import { type Block, isBlock, textBlock } from '../../../events/blocks.ts'
import { type ConversationEvent, messageOf, type Origin } from '../../../events/events.ts'
import { failuresIn } from '../../models/call-model.ts'
import { type UsageCounts, countsIn } from '../../models/usage.ts'
import { isUnproven } from '../../receipts/calls.ts'
import { receiptsOfSummary } from '../../receipts/summary-request.ts'
import { estimate } from './estimate.ts'

/** A call of a model that may have cost money. */
export interface PaidCall {
  readonly kind: 'reply' | 'summary' | 'failed'
  /** Position of the answer; for a failed call, the position of the answer that a retry received. */
  readonly position: number
  /** Time of the answer: ISO 8601, UTC. */
  readonly time: string
  /** Number of requests; a summary in several parts takes more than one. */
  readonly calls: number
  readonly model?: string | undefined
  readonly requestId?: string | undefined
  /** Usage reported by the API; undefined if it was not recorded. */
  readonly counts?: UsageCounts | undefined
  /** Names that identify the same call in every conversation; absent if no other conversation can contain the call. */
  readonly names?: readonly string[]
  /** Estimated number of tokens in an imported reply. */
  readonly said?: number
  /** Names of the tools that the reply calls, one for each call. */
  readonly tools: readonly string[]
}

type Reply = ConversationEvent<'MessageAppended'>

/**
 * Reports whether an event is a model's reply. An imported assistant message counts as a reply even if the source names no model,
 * because it was paid for as well.
 */
export const isPaidReply = (event: ConversationEvent): event is Reply =>
  event.type === 'MessageAppended' &&
  event.data.role === 'assistant' &&
  (event.data.origin?.context !== undefined || isUnproven(event) || isImported(event))

/** Reports whether an event was written by an import of another program's file. */
export const isImported = ({ metadata }: ConversationEvent): boolean =>
  metadata.commandId.startsWith('import:')

/** Reports whether a reply was written by a program rather than a model. Such a reply names `<synthetic>` as its model. */
export const isOfProgram = ({ model }: Pick<Origin, 'model'>): boolean => model?.startsWith('<') === true

/**
 * Returns the calls that an event paid for: its reply or summary, and failed calls before it.
 *
 * @param names names that identify the reply
 * @param summaries answers of the summaries before the event, to which the event's own is added
 */
export const callsPaidIn = (
  event: ConversationEvent,
  names: readonly string[],
  summaries: Set<string>,
): readonly PaidCall[] => {
  if (isPaidReply(event)) {
    const { origin = {}, content } = messageOf(event)
    const tools = content.flatMap((block) => (isBlock(block, 'tool_use') ? [block.name] : []))
    const said = isImported(event) ? estimate(content.flatMap(spoken)) : 0
    return [...failedBefore(event, origin), { ...paid(event, origin, 'reply'), names, said, tools }]
  }
  if (event.type !== 'Condensed' || event.data.method !== 'model') return []
  const { origin = {} } = event.data
  const { context, requestId } = origin
  // A turn may record a summary again, before later messages. The summary is then counted once.
  const answer = JSON.stringify([context?.position, context?.digest, requestId])
  if ((context || requestId !== undefined) && summaries.has(answer)) return []
  summaries.add(answer)
  const calls = context ? receiptsOfSummary(context).length : 1
  return [...failedBefore(event, origin), paid(event, origin, 'summary', calls)]
}

const paid = (
  { position, metadata: { time } }: ConversationEvent,
  { model, requestId, usage }: Pick<Origin, 'model' | 'requestId' | 'usage'>,
  kind: PaidCall['kind'],
  calls = 1,
): PaidCall => ({
  kind,
  position,
  time,
  calls,
  model,
  requestId,
  counts: isCounted(usage) ? countsIn(usage) : undefined,
  names: requestId === undefined ? [] : [JSON.stringify([kind, requestId, time])],
  tools: [],
})

/** Returns the failed calls before an answer. A call without usage counts as free. */
const failedBefore = (event: ConversationEvent, origin: Origin): readonly PaidCall[] =>
  failuresIn(origin).map(({ model, requestId, usage = { input_tokens: 0 } }) =>
    paid(event, { model, requestId, usage }, 'failed'),
  )

const isCounted = (usage: Origin['usage']): boolean =>
  usage !== undefined && ['input_tokens', 'output_tokens'].some((field) => typeof usage[field] === 'number')

/**
 * Returns the part of a block that counts towards a lower bound on the model's output tokens: thinking as text, and nothing for
 * redacted thinking.
 */
const spoken = (block: Block): readonly Block[] => {
  if (isBlock(block, 'redacted_thinking')) return []
  return isBlock(block, 'thinking') ? [textBlock(block.thinking)] : [block]
}

/** Merges two parts of one reply, each with the cumulative usage. */
export const joinedCalls = (one: PaidCall, other: PaidCall): PaidCall => ({
  ...fullerCall(one, other),
  names: [...(one.names ?? []), ...(other.names ?? [])],
  said: (one.said ?? 0) + (other.said ?? 0),
  tools: [...one.tools, ...other.tools],
})

/** Merges two records of the same call. The record with more output tokens was written later, so its counts are used. */
export const fullerCall = (one: PaidCall, other: PaidCall): PaidCall => {
  const isFuller = (other.counts?.output ?? 0) >= (one.counts?.output ?? 0)
  const said = Math.max(one.said ?? 0, other.said ?? 0)
  return { ...one, said, ...(isFuller && { counts: other.counts ?? one.counts }) }
}
