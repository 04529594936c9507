import type { Conversation } from '../../api/promises.ts'
import type { ConversationEvent } from '../../events/events.ts'
import { showsErased } from '../../projections/effective.ts'
import { parent } from '../../projections/path.ts'
import { type ModelCall, isUnproven, createCallCounter } from '../../agent/receipts/calls.ts'
import { fingerprintsIn } from '../../agent/receipts/receipt-blocks.ts'
import { stepAt } from '../../agent/turn/turn-step.ts'
import { isPolicyMarker } from '../replay-log.ts'
import { contextOfCall, contextOfMarkers, plansIn, planKey } from './context.ts'
import type { Divergence } from './divergence.ts'
import { historiesOf } from '../histories.ts'
import type { Log } from '../../projections/path.ts'
import type { ReplayedAgent } from './replayed-agent.ts'
import type { RecordedHistory, Waits } from './recorded-history.ts'
import { requestDiffers } from './request.ts'
import { callsAnsweredBy, resultsChecked } from './results.ts'
import { type StepAt, stepsOf } from './steps.ts'
import { summaryDiffers } from './summary.ts'

/** Result of replaying an agent on a recorded conversation. */
export interface AgentReplayReport {
  readonly conversation: string
  /** True if at least one reply or marker was compared and no difference was found. */
  readonly isSame: boolean
  /**
   * Numbers of replies, of summaries and truncations (`markers`), and of tool calls (`results`) that were compared, including the one
   * that differs.
   */
  readonly replies: number
  readonly markers: number
  readonly results: number
  /**
   * Numbers of replies without a receipt (`unproven`) and of tool calls for which the store has no record of waiting (`unknown`).
   * Neither can be compared.
   */
  readonly unproven: number
  readonly unknown: number
  /** Number of replies, markers and results that are not compared, because content that the agent was shown was erased. */
  readonly erased: number
  /** First difference found; absent if everything compared is the same. */
  readonly divergence?: Divergence
}

/**
 * Replays an agent on a log.
 *
 * @param from number of the first call to compare, from 1
 */
export const replayLogOn = async (
  chat: Conversation,
  log: Log,
  waits: Waits,
  agent: ReplayedAgent,
  from = 1,
): Promise<AgentReplayReport> => {
  const recorded: RecordedHistory = { log, waits, historyAt: historiesOf(log) }
  const settingsAt = stepsOf(chat, agent, recorded)
  const look = lookingAt(recorded, settingsAt)
  const numbered = createCallCounter()
  const count = { replies: 0, markers: 0, results: 0, unproven: 0, unknown: 0, erased: 0 }
  let calls = 0
  let divergence: Divergence | undefined
  for (const event of log) {
    const own = numbered(event)
    const [call] = own
    look.remember(call)
    calls = own.at(-1)?.number ?? calls
    // An event without a call number precedes the next call.
    const isUnnumbered = call === undefined && (isUnproven(event) || isPolicyMarker(event))
    const isDue = (isUnnumbered ? calls + 1 : calls) >= from
    if (isUnproven(event) && isDue) count.unproven++
    if (isDue) divergence = await look.at(event, call, count)
    if (divergence) break
  }
  return {
    conversation: chat.id,
    isSame: divergence === undefined && count.replies + count.markers > 0,
    ...count,
    ...(divergence && { divergence }),
  }
}

type Count = { -readonly [Name in 'replies' | 'markers' | 'results' | 'unknown' | 'erased']: number }

const lookingAt = (recorded: RecordedHistory, settingsAt: (at: number) => Promise<StepAt>) => {
  const { log, historyAt } = recorded
  const plans = plansIn(log)
  const prints = new Map<number, string>()

  const reply = async (event: ConversationEvent, call: ModelCall): Promise<Divergence | undefined> => {
    const { position: at } = call.receipt
    const now = historyAt(at)
    const step = await settingsAt(at)
    const where = { event: event.position, at, call: call.number }
    const request = requestDiffers(log, now, call, step, prints.get(event.position))
    if (await wouldHaveEnded(recorded, step, at))
      return { kind: 'end', ...where, agent: 'ended its turn (stopWhen)', log: 'called the model' }
    // A turn configures the conversation, then fits the context, then calls the model.
    if (request && !request.path.startsWith('messages')) return { kind: 'request', ...where, ...request }
    const context = contextOfCall(now, event, step)
    if (context) return { kind: 'context', ...where, ...context }
    return request && { kind: 'request', ...where, ...request }
  }

  return {
    remember: (call: ModelCall | undefined): void => {
      const own =
        call?.kind === 'reply' ? fingerprintsIn(call.receipt, (base) => prints.get(base)) : undefined
      if (call && own !== undefined) prints.set(call.position, own)
    },
    at: async (
      event: ConversationEvent,
      call: ModelCall | undefined,
      count: Count,
    ): Promise<Divergence | undefined> => {
      if (call?.kind === 'reply') {
        if (showsErased(historyAt(call.receipt.position))) return void count.erased++
        count.replies++
        return reply(event, call)
      }
      if (isPolicyMarker(event)) {
        const all = plans.get(planKey(event)) ?? []
        if (!all.includes(event)) return undefined
        const at = event.data.policy?.position ?? parent(log, event.position)
        if (event.metadata.erased || showsErased(historyAt(at))) return void count.erased++
        count.markers++
        const step = await settingsAt(at)
        const where = { event: event.position, at, ...(call && { call: call.number }) }
        const context = all[0] === event ? contextOfMarkers(historyAt(at), all, step) : undefined
        if (context) return { kind: 'context', ...where, ...context }
        const summary = await summaryDiffers(historyAt(at), event, step)
        return summary && { kind: 'summary', ...where, ...summary }
      }
      const answered = callsAnsweredBy(recorded, event)
      if (!answered) return undefined
      const { at } = answered
      if (event.metadata.erased || showsErased(historyAt(at))) return void count.erased++
      count.results += answered.calls.length
      const { found, unknown } = await resultsChecked(recorded, answered, event, await settingsAt(at))
      count.unknown += unknown.length
      return found && { event: event.position, at, ...found }
    },
  }
}

/**
 * Reports whether the agent would have ended its turn after the last reply's calls, although the recorded turn called the model again.
 * False if the store does not record whether that turn ended there: then the next call may be that of a turn that continued.
 */
const wouldHaveEnded = async (
  { historyAt, waits }: RecordedHistory,
  { settled: { stopWhen }, since, account }: StepAt,
  at: number,
): Promise<boolean> => {
  if (!stopWhen) return false
  const last = since.path.findLast(
    (event): event is ConversationEvent<'MessageAppended'> =>
      event.type === 'MessageAppended' && event.data.role === 'assistant',
  )
  const taken = last && stepAt(last.position, historyAt(at), account)
  if (!taken || waits.endsAt(at) || !waits.isKnown(last.data.origin?.starts)) return false
  return typeof stopWhen === 'function'
    ? stopWhen(taken)
    : taken.calls.some(({ name }) => stopWhen.includes(name))
}
