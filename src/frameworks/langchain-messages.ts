import { isDeepStrictEqual } from 'node:util'
import { type AnyBlock, type Block, textBlock, unknownBlock } from '../events/blocks.ts'
import type { Message } from '../events/events.ts'
import { type Fields, isFields } from '../events/json.ts'
import type { NewMessage } from '../events/new-message.ts'
import { addressOf, imageAt } from '../transfer/formats/openai-blocks.ts'
import { withoutReferences, withReferences } from './shared-values.ts'

/** A message of LangChain, serialized: `{ lc: 1, type: 'constructor', id: ['langchain_core', 'messages', CLASS], kwargs }`. */
export interface LangChainMessage extends Fields {
  readonly id: readonly string[]
  readonly kwargs: Fields
}

/** Reports whether a value of a checkpoint is a message that somebody said. A `RemoveMessage` is an instruction, not a message. */
export const isLangChainMessage = (value: unknown): value is LangChainMessage =>
  isFields(value) &&
  value['lc'] === 1 &&
  value['type'] === 'constructor' &&
  isFields(value['kwargs']) &&
  Array.isArray(value['id']) &&
  isDeepStrictEqual(value['id'].slice(0, -1), modules) &&
  /Message(?:Chunk)?$/.test(String(value['id'].at(-1))) &&
  value['id'].at(-1) !== 'RemoveMessage'

const modules = ['langchain_core', 'messages']

/**
 * Converts a serialized message of LangChain to a message that people and other models can read. The rest of it is kept in the
 * message's field `item`, so that `langChainMessageOf` returns the same message. A message that cannot be read is kept whole, in a block
 * of type `langchain_message`.
 */
export const messageOf = (given: LangChainMessage): NewMessage => {
  const message = readable(given)
  if (!message)
    return { role: roleOf(given), content: [unknownBlock({ type: 'langchain_message', message: given })] }
  if (isDeepStrictEqual(langChainMessageOf(message), given)) return message
  const whole: typeof message = { ...message, item: { whole: withReferences(given, message.content) } }
  return whole
}

/** Converts a message to one of LangChain: the result of `messageOf` to its argument, any other message to the nearest one. */
export const langChainMessageOf = (message: Message): LangChainMessage => {
  const { role, content, item = {} } = message as Message & { readonly item?: Fields }
  const [block]: readonly AnyBlock[] = content
  if (block?.type === 'langchain_message') return block['message'] as LangChainMessage
  const { class: name, parts, whole, ...rest } = item
  const known = whole === undefined ? undefined : withoutReferences(whole, content)
  if (known !== undefined) return known as LangChainMessage
  const isResult = block?.type === 'tool_result'
  const calls = role === 'assistant' ? content.filter(({ type }) => type === 'tool_use') : []
  const said = isResult
    ? resultOf(block['content'])
    : content.filter((each) => role !== 'assistant' || each.type !== 'tool_use')
  return {
    lc: 1,
    type: 'constructor',
    id: [...modules, typeof name === 'string' ? name : isResult ? 'ToolMessage' : plainClass[role]],
    kwargs: {
      content: contentOf(said, parts),
      ...(isResult && { tool_call_id: block['tool_use_id'] }),
      ...(role === 'assistant' && { tool_calls: calls.map(callOf), invalid_tool_calls: [] }),
      additional_kwargs: {},
      response_metadata: {},
      ...rest,
    },
  }
}

const plainClass = { user: 'HumanMessage', assistant: 'AIMessage', system: 'SystemMessage' } as const

const readable = ({ id, kwargs }: LangChainMessage): (Message & { readonly item?: Fields }) | undefined => {
  const name = String(id.at(-1))
  const { content, tool_calls: calls, tool_call_id: call, ...others } = kwargs
  const blocks = typeof content === 'string' ? [textBlock(content)] : blocksOf(content)
  const role = roles.get(name.replace(/Chunk$/, ''))
  if (!blocks || !role) return undefined
  const isResult = name.startsWith('Tool')
  const item = {
    ...(name !== (isResult ? 'ToolMessage' : plainClass[role]) && { class: name }),
    ...(typeof content !== 'string' && {
      parts: isDeepStrictEqual(partsOf(blocks), content) || withReferences(content, blocks),
    }),
    ...Object.fromEntries(Object.entries(others).filter(([key, value]) => !isUsual(key, value))),
  }
  const rest = Object.keys(item).length > 0 && { item }
  if (isResult) {
    const said = typeof content === 'string' ? content : blocks
    const block = unknownBlock({ type: 'tool_result', tool_use_id: call, content: said })
    return typeof call === 'string' && call !== '' ? { role, content: [block], ...rest } : undefined
  }
  const uses = role === 'assistant' ? usesOf(calls) : []
  if (!uses) return undefined
  const isSilent = role === 'assistant' && content === ''
  return { role, content: [...(isSilent ? [] : blocks), ...uses], ...rest }
}

const roles = new Map<string, Message['role']>([
  ['HumanMessage', 'user'],
  ['AIMessage', 'assistant'],
  ['SystemMessage', 'system'],
  ['ToolMessage', 'user'],
])

/** Returns the role of a message that is kept whole: `user` for one of a person or a tool. */
const roleOf = ({ id }: LangChainMessage): Message['role'] =>
  roles.get(String(id.at(-1)).replace(/Chunk$/, '')) ?? 'user'

/** Reports whether a message has this without anybody having set it. */
const isUsual = (key: string, value: unknown): boolean =>
  (/^(?:additional_kwargs|response_metadata)$/.test(key) && isDeepStrictEqual(value, {})) ||
  (key === 'invalid_tool_calls' && isDeepStrictEqual(value, []))

const usesOf = (calls: unknown): readonly Block[] | undefined =>
  Array.isArray(calls) &&
  calls.every(
    (call) => isFields(call) && isName(call['id']) && isName(call['name']) && isFields(call['args']),
  )
    ? calls.map((call: Fields) => {
        const { id, name, args, type: _, ...rest } = call
        return unknownBlock({ ...rest, type: 'tool_use', id, name, input: args })
      })
    : undefined

const isName = (value: unknown): boolean => typeof value === 'string' && value !== ''

const callOf = (block: AnyBlock): Fields => {
  const { id, name, input, type: _, ...rest } = block
  return { name, args: input, type: 'tool_call', id, ...rest }
}

const blocksOf = (parts: unknown): readonly Block[] | undefined =>
  Array.isArray(parts)
    ? parts.map((part: unknown) =>
        isFields(part) && isDeepStrictEqual(part, { type: 'text', text: String(part['text']) })
          ? textBlock(String(part['text']))
          : (imageOf(part) ?? unknownBlock({ type: 'langchain_block', block: part })),
      )
    : undefined

const imageOf = (part: unknown): Block | undefined => {
  if (!isFields(part) || part['type'] !== 'image_url') return undefined
  const { image_url: image } = part
  const url = isFields(image) ? image['url'] : image
  return typeof url === 'string' ? imageAt(url) : undefined
}

/** Returns the content of a message. `parts`: true for a list, or the list itself, with references to the blocks. */
const contentOf = (blocks: readonly AnyBlock[], parts: unknown): unknown => {
  const list = Array.isArray(parts) ? withoutReferences(parts, blocks) : undefined
  if (list !== undefined) return list
  return parts === true || blocks.some(({ type }) => type !== 'text') ? partsOf(blocks) : textOf(blocks)
}

const partsOf = (blocks: readonly AnyBlock[]): readonly unknown[] =>
  blocks.map((block) => {
    if (block.type === 'langchain_block') return block['block']
    return block.type === 'image' ? { type: 'image_url', image_url: { url: addressOf(block) } } : block
  })

const textOf = (blocks: readonly AnyBlock[]): string => blocks.map(({ text }) => text).join('')

const resultOf = (content: unknown): readonly AnyBlock[] =>
  typeof content === 'string' ? [textBlock(content)] : Array.isArray(content) ? content : []
