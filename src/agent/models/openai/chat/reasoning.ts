import { type Block, unknownBlock } from '../../../../events/blocks.ts'
import { type Fields, isFields } from '../../../../events/json.ts'
import { memo } from '../../../../projections/memo.ts'
import type { Effective, Item } from '../../../../projections/effective.ts'
import type { ChatForm, ChatMessage } from './types.ts'

// A provider's reasoning is stored as thinking without a signature, which no renderer sends, so that other APIs never see it. If its
// provider wants it back, it passes through the renderer as a field of another block of the same message.

/** Origin of the reasoning in a thinking block that was stored from a Chat Completions reply. */
export interface ReasoningOrigin {
  readonly provider: string
  /** The provider's list of reasoning details, if it sent one: texts, summaries, and data that only the provider can read. */
  readonly details?: readonly Fields[]
}

const carried = 'chat_reasoning'

/** Reasoning attached to another block so that it passes through the renderer. */
interface Carried {
  readonly text: string
  readonly details?: readonly Fields[]
}

/** Returns a history in which this provider's reasoning is attached to other blocks, so that it passes through the renderer. */
export const withReasoning = (effective: Effective, { reasoning }: ChatForm): Effective =>
  reasoning
    ? { ...effective, items: effective.items.map((item) => carrying(item, reasoning.provider)) }
    : effective

// Memoized, so that an item yields the same object each time: the renderer's cache depends on that.
const carrying = memo((item: Item, provider): Item => {
  if (item.kind !== 'message' || item.role !== 'assistant') return item
  const content = moved(item.content, provider)
  return content === item.content ? item : { ...item, content }
})

const moved = (content: readonly Block[], provider: string): readonly Block[] => {
  const found = content.filter((block) => originOf(block)?.provider === provider)
  const call = content.findLastIndex(({ type }) => type === 'tool_use')
  const text = content.findLastIndex((block) => block.type === 'text' && block.text.trim() !== '')
  const bearer = content[call >= 0 ? call : text]
  if (found.length === 0 || !bearer) return content
  const details = found.flatMap((block) => originOf(block)?.details ?? [])
  const reasoning: Carried = {
    text: found.map(({ thinking }) => thinking).join(''),
    ...(details.length > 0 && { details }),
  }
  return content
    .filter((block) => !found.includes(block))
    .map((block) => (block === bearer ? unknownBlock({ ...block, [carried]: reasoning }) : block))
}

const originOf = ({ type, chat }: Block): ReasoningOrigin | undefined =>
  type === 'thinking' && isFields(chat) && typeof chat['provider'] === 'string'
    ? (chat as Fields & ReasoningOrigin)
    : undefined

/**
 * Returns the reasoning to send back with an assistant message. Some providers require the field with each tool call, even if another
 * model made the call.
 */
export const reasoningIn = (content: readonly Block[], { reasoning }: ChatForm): Partial<ChatMessage> => {
  if (!reasoning) return {}
  const { field } = reasoning
  const found = content.map((block) => block[carried] as Carried | undefined).find(Boolean)
  if (field === 'reasoning_details') return found?.details ? { [field]: found.details } : {}
  const isCall = content.some(({ type }) => type === 'tool_use')
  return found || (field === 'reasoning_content' && isCall) ? { [field]: found?.text ?? '' } : {}
}
