import { freeze } from '../../events/freeze.ts'
import type { Conversation } from '../../api/promises.ts'
import { type TurnTotals, emptyAccount, entriesOf, withEntry } from '../../agent/turn/spending/account.ts'
import { orThrow } from '../../result/fallible.ts'
import type { ConversationEvent } from '../../events/events.ts'
import type { StepSettings } from '../../agent/turn/options.ts'
import { type AgentOptions, type AgentSettings, agentSettings, type ReplayedAgent } from './replayed-agent.ts'
import { chatAt } from './moment-chat.ts'
import { type RecordedHistory, type Since, sinceUserIn } from './recorded-history.ts'

/** Settings of an agent for one call of the model. */
export interface StepAt extends AgentSettings {
  readonly since: Since
  /** Totals of the turn up to this call. */
  readonly account: TurnTotals
}

/**
 * Returns a function that computes the agent's settings for its next step at a position. Calls the agent once for each user message,
 * and its `prepareStep` once for each call. Errors thrown by either are passed on.
 */
export const stepsOf = (
  chat: Conversation,
  agent: ReplayedAgent,
  { log, historyAt }: RecordedHistory,
): ((at: number) => Promise<StepAt>) => {
  let turn: { readonly began: number; readonly settings: AgentSettings } | undefined
  let step: { readonly key: string; readonly settings: AgentSettings } | undefined
  return async (at) => {
    const since = sinceUserIn(log, at)
    const { began } = since
    if (turn?.began !== began) {
      const options =
        typeof agent === 'function' ? await agent({ id: chat.id, chat: chatAt(chat, at) }) : agent
      turn = { began, settings: agentSettings(options) }
      step = undefined
    }
    const { settings } = turn
    const { prices, wanted, prepareStep, withStep } = settings.settled
    const book = { prices, model: wanted.model ?? '' }
    const account = entriesOf(since.path).reduce((sum, entry) => withEntry(sum, entry, book), emptyAccount)
    if (!prepareStep) return { ...settings, since, account }
    const number = account.replies + 1
    const last = since.path.findLast(isReplyEvent)?.position
    const key = `${began} ${number} ${last}`
    if (step?.key !== key) {
      const next = { step: number, effective: historyAt(at), usage: account.usage }
      const own = await prepareStep(freeze(next))
      step = {
        key,
        settings: own
          ? { ...settings, options: stepped(settings.options, own), settled: await orThrow(withStep(own)) }
          : settings,
      }
    }
    return { ...step.settings, since, account }
  }
}

const isReplyEvent = (event: ConversationEvent): boolean =>
  event.type === 'MessageAppended' && event.data.role === 'assistant'

/** Merges the settings of one step into the agent's options. */
const stepped = (options: AgentOptions, own: StepSettings): AgentOptions => ({
  ...options,
  ...(Object.fromEntries(
    Object.entries(own).filter(([, value]) => value !== undefined),
  ) as Partial<AgentOptions>),
})
