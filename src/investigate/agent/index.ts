import { z } from 'zod'
import type { Conversation } from '../../api/promises.ts'
import { check } from '../../events/check.ts'
import type { RecordedTurnFact } from '../../events/turn-events.ts'
import { orThrow } from '../../result/fallible.ts'
import { logOf } from '../log.ts'
import { waitsIn } from './recorded-history.ts'
import { type AgentReplayReport, replayLogOn } from './replay-agent.ts'
import { agentSchema, type ReplayedAgent } from './replayed-agent.ts'

/** Options for `replayAgent`. */
export interface ReplayAgentOptions {
  readonly agent: ReplayedAgent
  /** Number of the first call to compare, as in `chat.calls()`: from 1. Default 1. */
  readonly from?: number | undefined
}

const optionsSchema = z.strictObject({ agent: agentSchema, from: z.int().min(1).optional() })

/**
 * Runs an agent's code on a recorded conversation without calling a model. Compares each event written by a turn with the request or
 * action that the agent would have produced, and stops at the first difference. Never runs tools, writes nothing, and reads the whole
 * log. docs/investigate.md.
 *
 * Rejects with `InvalidInput` (also for the agent's options), `ConversationNotFound` or another `ReadError`, and errors thrown by the
 * agent.
 *
 * @example
 * import { replayAgent } from 'palimpsest/investigate'
 *
 * const agent = { model: 'claude-opus-5-5', system: 'You answer briefly.' }
 * const { isSame, divergence } = await replayAgent(store.conversation('task-42'), { agent })
 * if (!isSame) console.log(divergence?.call, divergence?.path, divergence?.agent, divergence?.log)
 */
export const replayAgent = async (
  chat: Conversation,
  options: ReplayAgentOptions,
): Promise<AgentReplayReport> => {
  await orThrow(check(optionsSchema, options))
  const log = await logOf(chat)
  const facts: RecordedTurnFact[] = []
  for await (const fact of chat.turnFacts()) facts.push(fact)
  return replayLogOn(chat, log, waitsIn(facts), options.agent, options.from)
}
