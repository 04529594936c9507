import type { Effective } from '../effective.ts'
import { transcript } from './transcript.ts'
import { utterancesOf } from './utterances.ts'

/**
 * A tool call, by the positions of the events that make it and that answer it; without `result` nobody has answered yet. A server tool's
 * is one only where no one message holds its result, too.
 */
export interface ToolCall {
  readonly id: string
  readonly use: number
  readonly result?: number
}

/**
 * The tool calls of a history as a request pairs them, in the order of their ends. A call that the conversation went on
 * without is none, nor is a result that came too late.
 */
export const toolCalls = (effective: Effective): readonly ToolCall[] => {
  const script = transcript(false, () => {})
  for (const utterance of utterancesOf(effective, true)) script.say(utterance)
  return script.calls()
}
