import type { Effective } from '../effective.ts'
import { transcript } from './transcript.ts'
import { utterancesOf } from './utterances.ts'
import type { ToolCall } from './waiting.ts'

/**
 * The tool calls of a history as a request pairs them, in the order of their ends. A call is left out if the conversation continued
 * without its result, and so is a result that came too late.
 */
export const toolCalls = (effective: Effective): readonly ToolCall[] => {
  const script = transcript(false, () => {})
  for (const utterance of utterancesOf(effective, true)) script.say(utterance)
  return script.calls()
}
