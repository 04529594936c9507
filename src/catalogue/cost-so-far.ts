import {
  callsPaidIn,
  isImported,
  isPaidReply,
  joinedCalls,
  type PaidCall,
} from '../agent/context/tokens/paid-call.ts'
import { inputOf } from '../agent/context/tokens/usage.ts'
import { isSameReply } from '../agent/models/usage.ts'
import { totalsOf } from '../agent/context/tokens/usage-totals.ts'
import { prices } from '../agent/models/prices.ts'
import { beginsTurn } from '../commands/state.ts'
import type { ConversationEvent, Origin } from '../events/events.ts'

// The cost of a conversation's own calls, kept event by event: the same as the sum over all of its calls (investigate/cost.ts).

/** Running cost of a conversation's own calls, on every branch. */
export interface CostSoFar {
  /** Cost in US dollars of the calls that have a price. */
  readonly usd: number
  /** Number of calls that `usd` includes. */
  readonly priced: number
  /** Number of calls whose cost is unknown or too low, because a price or a part of the usage is missing. */
  readonly unsure: number
  readonly recent: RecentCalls | undefined
}

/** Calls that a later event may record again. */
interface RecentCalls {
  /** Reply that the next message may continue: imports store a reply in several messages. */
  readonly reply?: {
    readonly call: PaidCall
    readonly messageId?: string | undefined
    readonly origin: Origin
  }
  /** Keys of the newest summaries, which a turn may record again. */
  readonly summaries: readonly string[]
}

/** Number of summaries remembered. A summary is recorded again right after it could not be used, before later messages. */
const mostSummaries = 4

/** Returns the spending after an event. */
export const spend = (before: CostSoFar, event: ConversationEvent): CostSoFar => {
  const { reply } = before.recent ?? {}
  const isOver = event.type === 'Rewound' || beginsTurn(event)
  if (!isPaidReply(event) && event.type !== 'Condensed')
    return isOver && reply ? { ...before, recent: recentOf(undefined, before.recent?.summaries) } : before
  const summaries = new Set(before.recent?.summaries)
  let spent = before
  let last: PaidCall | undefined
  for (const call of callsPaidIn(event, [], summaries)) {
    const isPart = reply && call.kind === 'reply' && isPaidReply(event) && isSameReply(reply, event.data)
    last = isPart ? joinedCalls(reply.call, call) : call
    if (isPart) spent = withCall(spent, reply.call, -1)
    spent = withCall(spent, last, 1)
  }
  const known = isPaidReply(event) ? replyOf(event, last) : reply
  return { ...spent, recent: recentOf(known, [...summaries].slice(-mostSummaries)) }
}

const replyOf = (event: ConversationEvent<'MessageAppended'>, call: PaidCall | undefined) => {
  if (!call || !isImported(event)) return undefined
  const { messageId, origin = {} } = event.data
  const { kind, position, time, calls, model, counts, said } = call
  const { requestId, usage = {} } = origin
  return {
    call: { kind, position, time, calls, model, counts, tools: [], ...(said !== undefined && { said }) },
    messageId,
    origin: { ...(requestId !== undefined && { requestId }), usage: { input_tokens: inputOf(usage) } },
  }
}

const recentOf = (reply: RecentCalls['reply'], summaries: readonly string[] = []): RecentCalls | undefined =>
  reply || summaries.length > 0 ? { ...(reply && { reply }), summaries } : undefined

const withCall = (spent: CostSoFar, call: PaidCall, sign: 1 | -1): CostSoFar => {
  const { usd, calls, unpriced, uncounted, understated } = totalsOf(call, prices)
  return {
    ...spent,
    usd: spent.usd + sign * usd,
    priced: spent.priced + sign * (calls - unpriced - uncounted),
    unsure: spent.unsure + sign * (unpriced + uncounted + understated),
  }
}
