import { type AnyBlock, type Block, textBlock, unknownBlock } from '../../events/blocks.ts'
import type { Message } from '../../events/events.ts'
import { type Fields, isFields } from '../../events/json.ts'
import { blocksOfParts, inputOf } from './openai-blocks.ts'
import { stringOf } from './source.ts'

/** An item of the Responses API as a message, or the reason why it is left out. */
export type ItemMessage = { readonly message: Message } | { readonly leftOut: string }

/**
 * Converts an item of the Responses API, to a message: calls and their outputs become blocks of the Messages API.
 * Items that other APIs do not know, such as `compaction`, are kept unchanged in a block of type `responses_item`.
 */
export const messageOfItem = (item: Fields): ItemMessage => {
  const { type, content, call_id: id } = item
  switch (type) {
    case 'message':
      return item['role'] === 'system'
        ? { leftOut: 'Codex does not send messages of the role system' }
        : { message: { role: roleOf(item['role']), content: partsOf(content, item['phase']) } }
    case 'reasoning':
      return thinkingOf(item)
    case 'function_call':
      return reply({
        type: 'tool_use',
        id,
        name: item['name'],
        input: inputOf(item['arguments']),
        ...namespaceIn(item),
      })
    case 'custom_tool_call':
      return reply({
        type: 'tool_use',
        id,
        name: item['name'],
        input: item['input'] ?? '',
        ...namespaceIn(item),
      })
    case 'local_shell_call':
      return reply({
        type: 'tool_use',
        id: id ?? item['id'],
        name: 'local_shell',
        input: item['action'] ?? {},
      })
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { message: { role: 'user', content: [resultOf(id, item['output'])] } }
    case 'agent_message':
      return { message: { role: 'user', content: partsOf(content) } }
    case 'tool_search_output':
      return { message: { role: 'user', content: [kept(item)] } }
    default:
      return reply(kept(item))
  }
}

/** Joins two messages of the model, which are parts of one reply; undefined if not both are. */
export const joinReplies = (first: Message, second: Message): Message | undefined =>
  first.role === 'assistant' && second.role === 'assistant'
    ? { ...first, content: [...first.content, ...second.content] }
    : undefined

/** Converts a list of items to messages. Consecutive items of the model become one message. */
export const messagesOfItems = (items: readonly unknown[]): readonly Message[] => {
  const messages: Message[] = []
  for (const item of items.filter(isFields)) {
    const mapped = messageOfItem(item)
    if ('leftOut' in mapped) continue
    const last = messages.at(-1)
    const joined = last && joinReplies(last, mapped.message)
    if (joined) messages.splice(-1, 1, joined)
    else messages.push(mapped.message)
  }
  return messages
}

/**
 * Reports whether a message begins a turn of the user: it is a message of role `user` that is no result, and in which Codex itself does
 * not tell the model about its surroundings.
 */
export const beginsTurn = ({ role, content }: Message): boolean =>
  role === 'user' &&
  !content.some(({ type }: AnyBlock) => type === 'tool_result' || type === 'responses_item') &&
  !isContext({ role, content })

/** Reports whether a message tells the model about its surroundings. A rollback removes such a message with the turn that follows it. */
export const isContext = ({ role, content }: Message): boolean => {
  const pattern = role === 'system' ? developerContext : role === 'user' ? userContext : undefined
  return (
    pattern !== undefined &&
    content.some((block) => typeof block['text'] === 'string' && pattern.test(block['text']))
  )
}

// The beginnings by which Codex itself tells such texts from prompts (codex-rs/core: context, event_mapping.rs).
const userContext =
  /^\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|user_shell_command|skill|turn_aborted|subagent_notification|hook_prompt|goal_context|additional_context|extension_context)[\s>])/i
const developerContext =
  /^\s*<(?:permissions instructions|model_switch|collaboration_mode|multi_agent_mode|realtime_conversation|skills_instructions|personality_spec|token_budget|token_budget_reminder|context_window|context_window_guidance|rollout_budget)>/i

const reply = (block: AnyBlock): ItemMessage => ({
  message: { role: 'assistant', content: [unknownBlock(block)] },
})

const roleOf = (role: unknown): Message['role'] =>
  role === 'developer' ? 'system' : (role as Message['role'])

const kept = (item: Fields): Block => unknownBlock({ type: 'responses_item', item })

const namespaceIn = ({ namespace }: Fields): Fields => (namespace === undefined ? {} : { namespace })

const partsOf = (content: unknown, phase?: unknown): readonly Block[] => {
  if (!Array.isArray(content)) return blocksOfParts(content)
  const more = phase === undefined || phase === null ? {} : { phase }
  return content.map((part: unknown) => {
    if (!isFields(part)) return part as Block
    const { type, text, refusal } = part
    switch (type) {
      case 'input_text':
      case 'output_text':
      case 'text':
        return unknownBlock({ type: 'text', text, ...more })
      case 'refusal':
        return textBlock(String(refusal))
      case 'input_image':
        return blocksOfParts([{ ...part, type: 'image_url' }])[0] as Block
      default:
        return unknownBlock(part as AnyBlock)
    }
  })
}

const thinkingOf = ({ summary, content, encrypted_content: encrypted }: Fields): ItemMessage => {
  const texts = [summary, content].flatMap((list) => (Array.isArray(list) ? list : []))
  const thinking = texts
    .filter(isFields)
    .map(({ text }) => String(text))
    .join('\n\n')
  if (thinking === '' && stringOf(encrypted) === undefined)
    return { leftOut: 'the file does not hold its text' }
  return reply({
    type: 'thinking',
    thinking,
    ...(stringOf(encrypted) !== undefined && { encrypted_content: encrypted }),
  })
}

/** Returns the result block of an output: a text, a list of parts or, in early versions, an object that contains one of these. */
const resultOf = (id: unknown, output: unknown): Block => {
  const { content, success } = isFields(output) ? output : { content: output, success: undefined }
  return unknownBlock({
    type: 'tool_result',
    tool_use_id: id,
    content: Array.isArray(content)
      ? partsOf(content)
      : typeof content === 'string'
        ? content
        : JSON.stringify(content ?? ''),
    ...(success === false && { is_error: true }),
  })
}
