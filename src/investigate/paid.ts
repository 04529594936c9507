import { isBlock } from '../events/blocks.ts'
import type { ConversationEvent, Origin } from '../events/events.ts'
import { isUnproven } from '../receipts/calls.ts'
import { failedIn } from '../models/asking.ts'
import { receiptsOfSummary } from '../receipts/summary-request.ts'
import { type Counts, countsIn } from '../turn/spending/usage.ts'

/** Something that a model was asked and that may have cost money. */
export interface PaidCall {
  readonly kind: 'reply' | 'summary' | 'failed'
  /** Position of the answer; of a failed call, of the answer that came at last. */
  readonly position: number
  /** ISO 8601, UTC. */
  readonly time: string
  /** How many requests it took: a summary in parts takes several. */
  readonly calls: number
  readonly model?: string | undefined
  readonly requestId?: string | undefined
  /** What the API counted; undefined if that is not recorded. */
  readonly counts?: Counts | undefined
  /** The tools that the reply calls, one for each call. */
  readonly tools: readonly string[]
}

/** The calls of a conversation, and how many it inherited: those are paid by what it was forked from. */
export interface PaidCalls {
  readonly calls: readonly PaidCall[]
  readonly inherited: number
}

/** What a conversation asked of models itself, on every branch, in the order of the answers. */
export const paidCallsIn = async (events: AsyncIterable<ConversationEvent>): Promise<PaidCalls> => {
  let calls: PaidCall[] = []
  let inherited = 0
  const summaries = new Set<string>()
  for await (const event of events) {
    if (event.type === 'Forked') {
      inherited += calls.length
      calls = []
    }
    for (const call of callsOf(event, summaries)) {
      const last = calls.at(-1)
      // An import may have stored a reply in parts, each with the usage of all so far.
      if (last && isSameReply(last, call)) calls[calls.length - 1] = joined(last, call)
      else calls.push(call)
    }
  }
  return { calls, inherited }
}

const callsOf = (event: ConversationEvent, summaries: Set<string>): readonly PaidCall[] => {
  if (event.type === 'MessageAppended' && event.data.role === 'assistant') {
    const { origin = {}, content } = event.data
    const isOfModel = origin.context !== undefined || isUnproven(event)
    const tools = content.flatMap((block) => (isBlock(block, 'tool_use') ? [block.name] : []))
    return isOfModel ? [...failedBefore(event, origin), paid(event, origin, 'reply', 1, tools)] : []
  }
  if (event.type !== 'Condensed' || event.data.method !== 'model') return []
  const { origin = {} } = event.data
  const { context, requestId } = origin
  // A turn may record a summary again, before what was said since.
  const answer = JSON.stringify([context?.position, context?.digest, requestId])
  if ((context || requestId !== undefined) && summaries.has(answer)) return []
  summaries.add(answer)
  const calls = context ? receiptsOfSummary(context).length : 1
  return [...failedBefore(event, origin), paid(event, origin, 'summary', calls)]
}

const paid = (
  { position, metadata }: ConversationEvent,
  { model, requestId, usage }: Pick<Origin, 'model' | 'requestId' | 'usage'>,
  kind: PaidCall['kind'],
  calls = 1,
  tools: readonly string[] = [],
): PaidCall => ({
  kind,
  position,
  time: metadata.time,
  calls,
  model,
  requestId,
  counts: isCounted(usage) ? countsIn(usage) : undefined,
  tools,
})

/** For a call that failed before the API counted anything, nothing is due. */
const failedBefore = (event: ConversationEvent, origin: Origin): readonly PaidCall[] =>
  failedIn(origin).map(({ model, requestId, usage = { input_tokens: 0 } }) =>
    paid(event, { model, requestId, usage }, 'failed'),
  )

const isCounted = (usage: Origin['usage']): boolean =>
  usage !== undefined && ['input_tokens', 'output_tokens'].some((field) => typeof usage[field] === 'number')

const isSameReply = (one: PaidCall, other: PaidCall): boolean =>
  one.kind === 'reply' &&
  other.kind === 'reply' &&
  one.requestId !== undefined &&
  one.requestId === other.requestId

const joined = (one: PaidCall, other: PaidCall): PaidCall => ({
  ...one,
  ...((other.counts?.output ?? 0) >= (one.counts?.output ?? 0) && { counts: other.counts ?? one.counts }),
  tools: [...one.tools, ...other.tools],
})
