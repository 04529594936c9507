import { isDeepStrictEqual } from 'node:util'
import type { AgentInputItem } from '@openai/agents-core'
import { isRole } from '../events/accept.ts'
import { type AnyBlock, type Block, textBlock, unknownBlock } from '../events/blocks.ts'
import type { Message } from '../events/events.ts'
import { type Fields, isFields } from '../events/json.ts'
import type { NewMessage } from '../events/new-message.ts'
import { addressOf, imageAt } from '../transfer/formats/openai-blocks.ts'
import { withoutReferences, withReferences } from './shared-values.ts'

/** Field `item` of a message: the item of the Agents SDK, with references to the blocks of the message. */
interface ItemField {
  readonly agentItem: unknown
}

/**
 * Converts an item of the OpenAI Agents SDK to a message that people and other models can read. If blocks cannot say everything about
 * the item, it is kept in the message's field `item`, too, so that `itemsOf` returns the item unchanged.
 */
export const messageOf = (item: AgentInputItem): NewMessage => {
  const message: Message = { role: roleOf(item), content: blocksOf(item) ?? [kept(item)] }
  if (isDeepStrictEqual(itemsOf(message), [item])) return message
  const field: ItemField = { agentItem: withReferences(item, message.content) }
  return Object.assign(message, { item: field })
}

/**
 * Converts a message to items: a message that `messageOf` made to the item that it was, any other message to one item for each text,
 * picture, document, call, result and thinking. Blocks that the Agents SDK has nothing for, such as calls of server tools, are left out.
 */
export const itemsOf = (message: Message): readonly AgentInputItem[] => {
  const { role, content, item } = message as Message & { readonly item?: unknown }
  const own = isFields(item) ? withoutReferences(item['agentItem'], content) : undefined
  return (own === undefined ? content.flatMap((block) => itemOf(role, block)) : [own]) as AgentInputItem[]
}

const itemOf = (role: Message['role'], block: AnyBlock): readonly unknown[] => {
  switch (block.type) {
    case 'responses_item':
      return [block['item']]
    case 'tool_use': {
      const { id: callId, name, input } = block
      return [{ type: 'function_call', callId, name, arguments: JSON.stringify(input) }]
    }
    case 'tool_result':
      return [
        {
          type: 'function_call_result',
          callId: block['tool_use_id'],
          output: textOf(block['content']),
        },
      ]
    case 'thinking':
      return [{ type: 'reasoning', content: [{ type: 'input_text', text: block['thinking'] }] }]
    case 'text': {
      const { text } = block
      return role === 'assistant'
        ? [{ role, status: 'completed', content: [{ type: 'output_text', text }] }]
        : [{ role, content: text }]
    }
    case 'image':
      return [{ role, content: [{ type: 'input_image', image: addressOf(block) }] }]
    case 'document':
      return [{ role, content: [{ type: 'input_file', file: addressOf(block) }] }]
    default:
      return []
  }
}

const textOf = (content: unknown): unknown =>
  Array.isArray(content)
    ? content
        .map((block: unknown) => (isFields(block) && typeof block['text'] === 'string' ? block['text'] : ''))
        .join('\n')
    : (content ?? '')

const blocksOf = (item: AgentInputItem): readonly Block[] | undefined => {
  const { type, role, content, callId, name, output, ...rest } = item as Fields
  switch (type) {
    case undefined:
    case 'message':
      if (!isRole(role)) return undefined
      return typeof content === 'string' ? [textBlock(content)] : partsOf(content)
    case 'function_call':
      return [unknownBlock({ type: 'tool_use', id: callId, name, input: inputOf(rest['arguments']) })]
    case 'function_call_result': {
      const said = isFields(output) ? output['text'] : output
      const shown = typeof said === 'string' ? said : partsOf(output)
      return shown === undefined
        ? undefined
        : [unknownBlock({ type: 'tool_result', tool_use_id: callId, content: shown })]
    }
    case 'reasoning': {
      const [thinking, ...others] = partsOf(content) ?? []
      return thinking?.type === 'text' && others.length === 0
        ? [unknownBlock({ type: 'thinking', thinking: thinking.text })]
        : undefined
    }
    default:
      return undefined
  }
}

const partsOf = (parts: unknown): readonly Block[] | undefined =>
  Array.isArray(parts) ? parts.map(blockOf) : undefined

const blockOf = (part: unknown): Block => {
  if (!isFields(part)) return kept(part)
  const { type, text, image } = part
  if (typeof text === 'string') return textBlock(text)
  return type === 'input_image' && typeof image === 'string' ? imageAt(image) : kept(part)
}

const inputOf = (text: unknown): unknown => {
  try {
    return JSON.parse(text as string)
  } catch {
    return { text }
  }
}

const kept = (item: unknown): Block => unknownBlock({ type: 'responses_item', item })

/** Returns the role of an item that is kept whole: `assistant` for a call, `user` for a result. */
const roleOf = (item: AgentInputItem): Message['role'] => {
  const { role, type } = item as Fields
  if (isRole(role)) return role
  return /_(?:result|output)$/.test(String(type)) ? 'user' : 'assistant'
}
