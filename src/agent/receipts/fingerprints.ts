import { hash } from 'node:crypto'
import type { Chat, ChatMessage } from '../models/openai/chat/chat.ts'
import { createListMap, memo } from '../../projections/memo.ts'
import { type SentPart, type SentRequest, textOf } from './canonical.ts'

/** Block of a request with its path, such as `messages[3].content[0]`, `system[0]` or `tools[2]`. */
export interface PlacedPart {
  readonly path: string
  readonly part: SentPart | string
}

/** Length of a block's fingerprint, in characters. */
export const fingerprintLength = 6

/** Returns the blocks of a request in the order in which the model sees them: tools, system prompt, messages. */
export const partsOf = (sent: SentRequest): readonly PlacedPart[] => {
  const { chat } = sent
  if (!chat) return blocksOf(sent)
  const placed = (name: string) => (part: SentPart, index: number) => ({ path: `${name}[${index}]`, part })
  return [...(chat.tools ?? []).map(placed('tools')), ...chat.messages.map(placed('messages'))]
}

const blocksOf = ({ tools = [], system = [], messages }: SentRequest): readonly PlacedPart[] => [
  ...tools.map((part, index) => ({ path: `tools[${index}]`, part })),
  ...(typeof system === 'string'
    ? [{ path: 'system', part: system }]
    : system.map((part, index) => ({ path: `system[${index}]`, part }))),
  ...messages.flatMap(({ content }, index) =>
    content.map((part, at) => ({ path: `messages[${index}].content[${at}]`, part })),
  ),
]

/**
 * Returns the concatenated fingerprints of a request's blocks, in the order of `partsOf`. A fingerprint is the first 6 characters of
 * the base64url SHA-256 of the block's role and canonical JSON, without `cache_control`, which moves from request to request. In the
 * form of Chat Completions, each message counts as a block.
 */
export const fingerprintsOf = ({ chat, tools = [], system = [], messages }: SentRequest): string => {
  if (chat) return chatPrints(chat)
  const prints = tools.map((tool) => fingerprint(tool, 'tool'))
  if (typeof system === 'string') prints.push(hashed('system', JSON.stringify(system)))
  else for (const block of system) prints.push(fingerprint(block, 'system'))
  const contents = messages.map(({ content }) => content)
  const said = printsOfContents(contents, (content, index) => {
    const { role = '' } = messages[index] ?? {}
    return content.map((block) => fingerprint(block, role)).join('')
  })
  return prints.join('') + said.join('')
}

const chatPrints = ({ tools = [], messages }: Chat): string =>
  [
    ...tools.map((tool) => fingerprint(tool, 'tool')),
    // The first message, usually the system prompt, is a new object in each request, so the reused list begins after it.
    ...messages.slice(0, 1).map((message) => fingerprint(message, message.role)),
    ...printsOfMessages(messages.slice(1), (message) => fingerprint(message, message.role)),
  ].join('')

const printsOfMessages = createListMap<ChatMessage, string>()

const printsOfContents = createListMap<readonly SentPart[], string>()

const fingerprint = memo((part: SentPart, role) => hashed(role, textOf(withoutBreakpoint(part))))

export const withoutBreakpoint = (part: SentPart): SentPart => {
  if (!('cache_control' in part)) return part
  const { cache_control: _, ...rest } = part
  return rest
}

const hashed = (role: string, text: string): string =>
  hash('sha256', `${role} ${text}`, 'base64url').slice(0, fingerprintLength)
