import type { ConversationRow } from '../conversation-row.ts'
import { unrecordedTokens } from '../meter.ts'
import { type StatusName, statusOf, toolsWaiting, workingFor } from '../status.ts'
import { type Trait, traitsIn } from '../traits.ts'

/** Facts that the index keeps about a conversation, without its content. */
export interface ConversationFacts {
  readonly id: string
  /**
   * Tokens of what the model sees now: as the API counted them, and what came since the last reply with a usage by estimate. The same as
   * `countTokens`, except between a marker and the next such reply, where it is close to it.
   */
  readonly tokens: number
  /** True if the API has counted all of `tokens`. */
  readonly isMeasured: boolean
  /** Tokens of `tokens` that no event records: the system prompt and the tools of an imported conversation. Absent if there are none. */
  readonly unrecorded?: number
  /** Number of replies with a receipt, including inherited ones. */
  readonly calls: number
  /** Number of replies of a model, with a receipt or without, including inherited ones. */
  readonly replies: number
  /** Number of messages ever appended, including inherited messages and those on abandoned branches. */
  readonly messages: number
  /** Number of events that record an error, including inherited ones. */
  readonly errors: number
  readonly status: StatusName
  /** Names of the tools whose calls wait for an approval, each once; absent if none does. */
  readonly waitsFor?: readonly string[]
  /** Model of the last reply, if known. */
  readonly model?: string
  /** Format from which the first own events were imported; absent if they were not. */
  readonly source?: string
  /** Time of the conversation's first event; of a fork, its first own event (ISO 8601). */
  readonly begun?: string
  /**
   * Cost in US dollars of the conversation's own calls, on every branch, at list prices; calls that a fork inherits and those of
   * subagents are not included. Absent if no call has both a recorded usage and a price.
   */
  readonly cost?: number
  /** True if `cost` is too low, or absent, because a price or a part of the usage is missing. */
  readonly isCostPartial?: true
  readonly has: readonly Trait[]
}

/** Returns the facts in a row of the index, at a time in milliseconds since 1970. */
export const factsIn = (row: ConversationRow, now: number): ConversationFacts => {
  const { id, tokens, calls, replies, messages, errors, activity, model, source, begun, meter, costs, has } =
    row
  const unrecorded = unrecordedTokens(meter)
  const status = statusOf(activity)
  const waitsFor = toolsWaiting(activity)
  const { usd, priced, unsure } = costs
  return {
    id,
    tokens,
    isMeasured: meter.isMeasured === true,
    ...(unrecorded > 0 && { unrecorded }),
    calls,
    replies,
    messages,
    errors,
    status: status === 'working' && row.worked < now - workingFor ? 'idle' : status,
    ...(waitsFor.length > 0 && { waitsFor }),
    ...(model !== null && { model }),
    ...(source !== null && { source }),
    ...(begun !== '' && { begun }),
    ...((priced > 0 || unsure === 0) && { cost: Math.round(usd * 1e6) / 1e6 }),
    ...(unsure > 0 && { isCostPartial: true as const }),
    has: traitsIn(has),
  }
}
