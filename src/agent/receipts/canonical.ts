import canonicalize from 'canonicalize'
import type { Chat } from '../models/openai/chat/chat.ts'
import type { Block } from '../../events/blocks.ts'
import type { Fields } from '../../events/json.ts'
import type { RenderResult, RenderedMessage } from '../../projections/render/renderer.ts'
import { memo } from '../../projections/memo.ts'
import { listDigest } from './list-digest.ts'

/** Content that a receipt covers: a request as sent, without the model and the parameters. */
export interface SentRequest extends Pick<RenderResult, 'tool_choice'> {
  readonly system?: string | readonly Block[]
  readonly tools?: readonly Fields[] | undefined
  readonly messages: readonly RenderedMessage[]
  /** The request in the form of Chat Completions, if it is sent in that form. */
  readonly chat?: Chat
  /** Indices of the messages whose content was sent as a string, which the digest treats as one text block. */
  readonly strings?: readonly number[]
}

/** Block of a request, or a tool definition. */
export type SentPart = { readonly [field: string]: unknown }

/**
 * Maximum length, in characters, of a text that is cached. Longer texts are not cached, because the texts of all blocks together are as
 * long as the history, and each is needed only a few times.
 */
const mostRemembered = 8_192
const briefText = memo((part: SentPart): string | undefined => {
  const text = canonicalize(part) ?? ''
  return text.length > mostRemembered ? undefined : text
})

/** Returns the canonical JSON (RFC 8785) of a block. */
export const textOf = (part: SentPart): string => briefText(part) ?? canonicalize(part) ?? ''

/**
 * Returns the SHA-256 (hex) of the canonical JSON (RFC 8785) of a request's system prompt, tools and messages as sent, omitting absent
 * fields. Hashing continues from the conversation's previous request as long as the beginning is unchanged.
 */
export const digestOf = ({ chat, messages, system, tools }: SentRequest): string => {
  if (chat) return chatDigest(chat)
  return digestOfList({
    // An unchanged content is the same object.
    items: messages.map(({ content }) => content),
    messageAt: (index) => messages[index],
    stable: stableIn(messages),
    system,
    tools,
  })
}

/** Messages of a request that need not all be in memory, with its system prompt and tools. */
interface RequestList {
  readonly system: SentRequest['system'] | undefined
  readonly tools: SentRequest['tools']
  /** An object for each message; it must be the same one as long as the message is the same. */
  readonly items: readonly object[]
  readonly messageAt: (index: number) => RenderedMessage | undefined
  /** Number of leading messages that the next request will probably begin with. */
  readonly stable: number
}

/** Returns what `digestOf` returns for a request with these messages. */
export const digestOfList = ({ items, messageAt, stable, system, tools }: RequestList): string => {
  const others = [
    ...(system === undefined
      ? []
      : [`"system":${typeof system === 'string' ? JSON.stringify(system) : listText(system)}`]),
    ...(tools ? [`"tools":${listText(tools)}`] : []),
  ]
  return listDigest({
    before: opening,
    items,
    // The names of other fields come after "content" and before "role".
    textAt: (index) => {
      const { content = [], role, ...fields } = messageAt(index) ?? {}
      const more = Object.keys(fields).length > 0 ? `${textOf(fields).slice(1, -1)},` : ''
      return `{"content":${listText(content)},${more}"role":"${role}"}`
    },
    after: `]${others.map((text) => `,${text}`).join('')}}`,
    stable,
  })
}

const opening = '{"messages":['

/**
 * Returns the digest of a Chat Completions request. The system prompt is hashed again for each request; the messages after it do not
 * change, so their hash is reused.
 */
const chatDigest = ({ messages, tools }: Chat): string => {
  const [first] = messages
  const isPrompt = first !== undefined && (first.role === 'system' || first.role === 'developer')
  const said = isPrompt ? messages.slice(1) : messages
  return listDigest({
    before: `${opening}${isPrompt ? textOf(first) : ''}${isPrompt && said.length > 0 ? ',' : ''}`,
    items: said,
    textAt: (index) => textOf(said[index] ?? {}),
    after: `]${tools ? `,"tools":${listText(tools)}` : ''}}`,
    stable: Math.max(0, said.length - 1),
  })
}

const listText = (parts: readonly SentPart[]): string => `[${parts.map((part) => textOf(part)).join()}]`

const isMarked = ({ content }: SentRequest['messages'][number]): boolean =>
  content.some((block) => 'cache_control' in block)

/** Estimates how many of the first messages the next request will share. The last two cache breakpoints move with the conversation. */
const stableIn = (messages: SentRequest['messages']): number => {
  let moving = 0
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]
    if (message && isMarked(message)) moving++
    if (moving === 2) return index
  }
  return moving > 0 ? messages.findLastIndex(isMarked) : Math.max(0, messages.length - 1)
}
