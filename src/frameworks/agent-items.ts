import { isDeepStrictEqual } from 'node:util'
import type { AgentInputItem } from '@openai/agents-core'
import { type AnyBlock, type Block, textBlock, unknownBlock } from '../events/blocks.ts'
import type { NewMessage } from '../events/new-message.ts'
import { isRole } from '../events/accept.ts'
import type { Message } from '../events/events.ts'
import { type Fields, isFields } from '../events/json.ts'

/**
 * Converts an item of the OpenAI Agents SDK to a message that people and other models can read. What blocks cannot say of the item stays
 * in the message's field `item`, so that `itemsOf` returns the item unchanged. An item that this would alter is kept whole, in a block of
 * type `responses_item`.
 */
export const messageOf = (item: AgentInputItem): NewMessage => {
  const message = readable(item)
  return message && isDeepStrictEqual(itemsOf(message), [item])
    ? message
    : { role: roleOf(item), content: [kept(item)] }
}

/**
 * Converts a message to items: a message that `messageOf` made to the item that it was, any other message to one item for each text,
 * picture, document, call, result and thinking. Blocks that the Agents SDK has nothing for, such as calls of server tools, are left out.
 */
export const itemsOf = (message: Message): readonly AgentInputItem[] => {
  const { role, content, item: rest } = message as Message & { readonly item?: unknown }
  const [block] = content
  if (isFields(rest) || content.length === 1) return itemOf(role, content, block, isFields(rest) ? rest : {})
  return content.flatMap((each) => itemOf(role, [each], each, {}))
}

const itemOf = (
  role: Message['role'],
  content: readonly AnyBlock[],
  block: AnyBlock | undefined,
  rest: Fields,
): readonly AgentInputItem[] => {
  const item = fieldsOf(role, content, block, rest)
  return item ? [item as unknown as AgentInputItem] : []
}

const fieldsOf = (
  role: Message['role'],
  content: readonly AnyBlock[],
  block: AnyBlock | undefined,
  rest: Fields,
): Fields | undefined => {
  switch (block?.type) {
    case 'responses_item':
      return 'content' in rest ? said(role, content, rest) : (block['item'] as Fields)
    case 'tool_use':
      return {
        type: 'function_call',
        callId: block['id'],
        name: block['name'],
        arguments: JSON.stringify(block['input']),
        ...rest,
      }
    case 'tool_result':
      return {
        type: 'function_call_result',
        callId: block['tool_use_id'],
        ...rest,
        output: outputOf(block, rest),
      }
    case 'thinking':
      return {
        type: 'reasoning',
        content: [{ type: 'input_text', text: block['thinking'] }],
        ...rest,
      }
    case 'text':
    case undefined:
      return said(role, content, rest)
    case 'image':
      return { role, content: [{ type: 'input_image', image: addressOf(block) }] }
    case 'document':
      return { role, content: [{ type: 'input_file', file: addressOf(block) }] }
    default:
      return undefined
  }
}

/** Returns the address of a picture or a document of the Messages API; its data as a `data:` URL. */
const addressOf = ({ source }: AnyBlock): unknown => {
  if (!isFields(source)) return ''
  const { url, media_type: type, data } = source
  return url ?? `data:${type as string};base64,${data as string}`
}

const said = (role: Message['role'], content: readonly AnyBlock[], rest: Fields): Fields => ({
  role,
  ...(role === 'assistant' && !('status' in rest) && !('content' in rest) && { status: 'completed' }),
  ...rest,
  content: Array.isArray(rest['content'])
    ? partsOf(content, rest['content'])
    : role === 'assistant'
      ? content.map((block) => ({ type: 'output_text', text: block['text'] }))
      : content.map((block) => block['text']).join(''),
})

const outputOf = (block: AnyBlock, { output }: Fields): unknown =>
  Array.isArray(output)
    ? partsOf(block['content'] as readonly AnyBlock[], output)
    : isFields(output)
      ? { ...output, text: block['content'] }
      : textOf(block['content'])

const textOf = (content: unknown): unknown =>
  Array.isArray(content)
    ? content
        .map((block: unknown) => (isFields(block) && typeof block['text'] === 'string' ? block['text'] : ''))
        .join('\n')
    : (content ?? '')

const readable = (item: AgentInputItem): (Message & { readonly item?: Fields }) | undefined => {
  const { type, ...fields } = item as Fields
  switch (type) {
    case undefined:
    case 'message': {
      const { role, content, ...rest } = fields
      const typed = type === undefined ? rest : { type, ...rest }
      if (!isRole(role)) return undefined
      if (typeof content === 'string') return withRest(role, [textBlock(content)], typed)
      const parts = blocksOf(content)
      return parts && withRest(role, parts.blocks, { ...typed, content: parts.rest })
    }
    case 'function_call': {
      const { callId, name, arguments: text, ...rest } = fields
      const input = inputOf(text)
      return withRest(
        'assistant',
        [unknownBlock({ type: 'tool_use', id: callId, name, input })],
        JSON.stringify(input) === text ? rest : { ...rest, arguments: text },
      )
    }
    case 'function_call_result': {
      const { callId, output, ...rest } = fields
      const result = (content: unknown, more: Fields) =>
        withRest('user', [unknownBlock({ type: 'tool_result', tool_use_id: callId, content })], {
          ...rest,
          ...more,
        })
      if (typeof output === 'string') return result(output, {})
      const parts = blocksOf(output)
      if (parts) return result(parts.blocks, { output: parts.rest })
      if (!isFields(output) || typeof output['text'] !== 'string') return undefined
      const { text, ...others } = output
      return result(text, { output: others })
    }
    case 'reasoning': {
      const { content, ...rest } = fields
      const text =
        Array.isArray(content) && content.length === 1 && isFields(content[0]) && content[0]['text']
      return typeof text === 'string'
        ? withRest('assistant', [unknownBlock({ type: 'thinking', thinking: text })], rest)
        : undefined
    }
    default:
      return undefined
  }
}

const withRest = (role: Message['role'], content: readonly Block[], rest: Fields) => ({
  role,
  content,
  ...(Object.keys(rest).length > 0 && { item: rest }),
})

/** Splits a list of parts into blocks and what these do not say, null for a part that is kept whole. */
const blocksOf = (parts: unknown) => {
  if (!Array.isArray(parts)) return undefined
  const blocks: Block[] = []
  const rest: (Fields | null)[] = []
  for (const part of parts as readonly unknown[]) {
    const isText = isFields(part) && typeof part['text'] === 'string'
    const { text, ...others } = isText ? part : {}
    blocks.push(isText ? textBlock(text as string) : kept(part))
    rest.push(isText ? others : null)
  }
  return { blocks, rest }
}

const partsOf = (blocks: readonly AnyBlock[], rest: readonly unknown[]): readonly unknown[] =>
  blocks.map((block, index) =>
    isFields(rest[index]) ? { ...rest[index], text: block['text'] } : block['item'],
  )

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
