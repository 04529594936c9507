import { isBlock } from '../events/blocks.ts'
import { type ConversationEvent, messageOf } from '../events/events.ts'

/** Reports whether an event is a final reply of the model: it neither waits for tool results nor is paused. */
export const isFinal = (event: ConversationEvent): boolean => {
  if (event.type !== 'MessageAppended' || event.data.role !== 'assistant') return false
  const { content, origin: { stopReason } = {} } = messageOf(event)
  const calls = content.some((block) => isBlock(block, 'tool_use'))
  const isCalling = calls && (stopReason === undefined || stopReason === 'tool_use')
  return !isCalling && stopReason !== 'pause_turn'
}
