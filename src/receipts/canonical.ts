import { createHash, type Hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Chat } from '../models/openai/chat/chat.ts'
import { sharedBeginning } from '../projections/list-cache.ts'
import type { Block } from '../events/blocks.ts'
import type { Fields } from '../events/json.ts'
import type { Rendered, RenderedMessage } from '../projections/render/renderer.ts'

/** What a receipt is of: a request as it is sent, without model and parameters. */
export interface Sent extends Pick<Rendered, 'tool_choice'> {
  readonly system?: string | readonly Block[]
  readonly tools?: readonly Fields[] | undefined
  readonly messages: readonly RenderedMessage[]
  /** In the form of Chat Completions, if that is the form it is sent in. */
  readonly chat?: Chat
}

/** A block of a request, or a tool. */
export type Part = { readonly [field: string]: unknown }

// Blocks never change, and a history that grows keeps the ones it has.
const texts = new WeakMap<Part, string>()

/** The canonical JSON (RFC 8785) of a block. */
export const textOf = (part: Part): string => {
  const known = texts.get(part)
  if (known !== undefined) return known
  const text = canonicalize(part) ?? ''
  texts.set(part, text)
  return text
}

/** A hash of the first messages of a request, which the next request of the conversation begins with too. */
interface Beginning {
  /** The contents of these messages. */
  readonly contents: readonly (readonly Part[])[]
  readonly hash: Hash
}
const beginnings = new WeakMap<Part, Beginning>()

/**
 * SHA-256 (hex) of the canonical JSON (RFC 8785) of system, tools and messages as they are sent, omitting absent ones. Continues from what
 * it has hashed of the conversation before, as long as that is the same.
 */
export const digestOf = ({ chat, messages, system, tools }: Sent): string => {
  if (chat) return chatDigest(chat)
  const contents = messages.map(({ content }) => content)
  const first = contents[0]?.[0]
  const known = first && beginnings.get(first)
  const isSame = known && sharedBeginning(known.contents, contents) === known.contents.length
  let { contents: hashed, hash } = isSame
    ? known
    : { contents: [], hash: createHash('sha256').update(opening) }
  const stable = stableIn(messages)
  if (first && hashed.length < stable) {
    hash = hash.copy().update(textFrom(messages, hashed.length, stable))
    hashed = contents.slice(0, stable)
    beginnings.set(first, { contents: hashed, hash })
  }
  const others = [
    ...(system === undefined
      ? []
      : [`"system":${typeof system === 'string' ? JSON.stringify(system) : listText(system)}`]),
    ...(tools ? [`"tools":${listText(tools)}`] : []),
  ]
  const rest = others.map((text) => `,${text}`).join('')
  return hash
    .copy()
    .update(`${textFrom(messages, hashed.length, messages.length)}]${rest}}`)
    .digest('hex')
}

const chatDigest = ({ messages, tools }: Chat): string => {
  const rest = tools ? `,"tools":${listText(tools)}` : ''
  return createHash('sha256')
    .update(`{"messages":${listText(messages)}${rest}}`)
    .digest('hex')
}

const opening = '{"messages":['

const textFrom = (messages: Sent['messages'], from: number, to: number): string =>
  `${from > 0 && from < to ? ',' : ''}${messages.slice(from, to).map(messageText).join()}`

const listText = (parts: readonly Part[]): string => `[${parts.map(textOf).join()}]`

const messageText = ({ role, content }: Sent['messages'][number]): string =>
  `{"content":${listText(content)},"role":"${role}"}`

const isMarked = ({ content }: Sent['messages'][number]): boolean =>
  content.some((block) => 'cache_control' in block)

/** How many messages the next request will probably begin with: the last two breakpoints move with the conversation. */
const stableIn = (messages: Sent['messages']): number => {
  let moving = 0
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]
    if (message && isMarked(message)) moving++
    if (moving === 2) return index
  }
  return moving > 0 ? messages.findLastIndex(isMarked) : Math.max(0, messages.length - 1)
}
