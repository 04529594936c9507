import type { ConversationEvent } from '../events/events.ts'
import { callsPaidIn, isPaidReply, joinedCalls, type PaidCall } from '../agent/context/tokens/paid-call.ts'
import { createContinuationTest, createReplyNaming } from './same-call.ts'

/** The calls of a conversation, and the number of calls inherited by a fork, which are counted for the parent. */
export interface PaidCalls {
  readonly calls: readonly PaidCall[]
  readonly inherited: number
}

/** Returns the model calls on every branch of a conversation, in the order of answers. Calls inherited by a fork are only counted. */
export const paidCallsIn = async (events: AsyncIterable<ConversationEvent>): Promise<PaidCalls> => {
  let calls: PaidCall[] = []
  let inherited = 0
  const isContinued = createContinuationTest(isPaidReply)
  const namesOf = createReplyNaming()
  const summaries = new Set<string>()
  for await (const event of events) {
    if (event.type === 'Forked') {
      inherited += calls.length
      calls = []
    }
    const names = namesOf(event)
    const isPart = isContinued(event)
    for (const call of callsPaidIn(event, names, summaries)) {
      const last = calls.at(-1)
      // An import may have stored a reply in parts, each with the cumulative usage.
      if (isPart && last && call.kind === 'reply') calls[calls.length - 1] = joinedCalls(last, call)
      else calls.push(call)
    }
  }
  return { calls, inherited }
}
